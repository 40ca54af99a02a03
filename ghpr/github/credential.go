package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// CredentialKind is what kind of credential we have.
type CredentialKind string

const (
	// KindApp: a GitHub App's installation, the best there is: narrow, short-lived, and its commits are signed.
	KindApp CredentialKind = "app"
	// KindFineGrained: a person's fine-grained token. GitHub does not tell what it may do.
	KindFineGrained CredentialKind = "fine_grained"
	// KindClassic: a person's classic token, far wider than is needed.
	KindClassic CredentialKind = "classic"
	// KindActions: the token of a workflow's run. Pull requests that it opens start no workflows.
	KindActions CredentialKind = "actions"
	// KindOther: a token of which GitHub tells nothing more.
	KindOther CredentialKind = "other"
)

// Credential is what GitHub tells of who we are there.
type Credential struct {
	Kind      CredentialKind
	Login     string
	Scopes    []string          // of a classic token
	Expires   time.Time         // zero: never, or not told
	Rights    map[string]string // of an App's installation: read or write, by permission
	Selected  bool              // an App that is installed on some repositories only
	Suspended bool              // an App whose installation was suspended
}

// tokenKind guesses by how a token begins: a hint for a warning, never a ground to refuse it.
func tokenKind(token string) CredentialKind {
	for prefix, kind := range map[string]CredentialKind{"github_pat_": KindFineGrained, "ghp_": KindClassic, "ghs_": KindActions} {
		if strings.HasPrefix(token, prefix) {
			return kind
		}
	}
	return KindOther
}

// Warning says what is wrong with a kind of credential, "" if nothing is.
func (k CredentialKind) Warning() string {
	switch k {
	case KindClassic:
		return "it is a classic token, which may write to every repository of its owner: make a fine-grained one with Contents and Pull requests: Read and write on the targets alone"
	case KindActions:
		return "it is the token of a workflow's run (GITHUB_TOKEN): pull requests that it opens start no workflows, so no check of theirs ever runs, and it ends with the run: use an App or a fine-grained token"
	}
	return ""
}

// Credential asks who we are; it writes nothing. With a fine-grained token the rights stay unknown: GitHub tells them only by refusing.
func (c *Client) Credential(ctx context.Context) (out Credential, err error) {
	out.Kind = c.kind
	if c.app != nil {
		if err = c.installation(ctx, &out); err != nil {
			return out, err
		}
		out.Login, err = c.Login(ctx)
		return out, err
	}
	err = c.read(ctx, "get own login", func(ctx context.Context) error {
		u, resp, err := c.gh.Users.Get(ctx, "")
		if err != nil {
			return err
		}
		out.Login = u.GetLogin()
		if scopes, told := resp.Header["X-Oauth-Scopes"]; told && c.kind != KindFineGrained {
			out.Kind = KindClassic
			for s := range strings.SplitSeq(strings.Join(scopes, ","), ",") {
				if s = strings.TrimSpace(s); s != "" {
					out.Scopes = append(out.Scopes, s)
				}
			}
		}
		for _, layout := range []string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
			if at, err := time.Parse(layout, resp.Header.Get("Github-Authentication-Token-Expiration")); err == nil {
				out.Expires = at
			}
		}
		return nil
	})
	if c.ofRun(err) {
		out.Login, err = actionsBot, nil
	}
	return out, err
}

const actionsBot = "github-actions[bot]"

// ofRun says that GitHub refused to tell who a workflow's token is, as it does.
func (c *Client) ofRun(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && c.kind == KindActions && e.Status == http.StatusForbidden && e.Kind == Denied
}

// installation reads what the App may do where it is installed.
func (c *Client) installation(ctx context.Context, out *Credential) error {
	return c.read(ctx, "get installation", func(ctx context.Context) error {
		req, err := c.app.NewRequest(http.MethodGet, fmt.Sprintf("app/installations/%d", c.installationID), nil)
		if err != nil {
			return err
		}
		var got struct {
			ID                  int64
			Permissions         map[string]string
			RepositorySelection string     `json:"repository_selection"`
			SuspendedAt         *time.Time `json:"suspended_at"`
		}
		if _, err := c.app.Do(ctx, req, &got); err != nil {
			return err
		}
		if got.ID != c.installationID {
			return odd("another installation")
		}
		out.Rights, out.Selected, out.Suspended = got.Permissions, got.RepositorySelection == "selected", got.SuspendedAt != nil
		return nil
	})
}

// needed are the rights that writing takes, by GitHub's names of permissions.
var needed = []string{"contents", "pull_requests"}

// Lacking names the rights that are known to be missing, as people find them on GitHub's pages.
func (cr Credential) Lacking() (out []string) {
	switch cr.Kind {
	case KindApp:
		for _, p := range needed {
			if cr.Rights[p] != "write" && cr.Rights[p] != "admin" {
				out = append(out, title(p)+": Read and write")
			}
		}
	case KindClassic:
		if !slices.Contains(cr.Scopes, "repo") && !slices.Contains(cr.Scopes, "public_repo") {
			out = append(out, "the scope repo")
		}
	}
	return out
}

// title is a permission as GitHub's pages have it: pull_requests -> Pull requests.
func title(permission string) string {
	s := strings.ReplaceAll(permission, "_", " ")
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
}

// rights are what calls need, by how their names begin.
var rights = []struct{ op, right string }{
	{"create tree", "contents=write"}, {"create commit", "contents=write"}, {"create ref", "contents=write"}, {"update ref", "contents=write"},
	{"create pull", "pull_requests=write"}, {"edit pull", "pull_requests=write"}, {"create label", "pull_requests=write"}, {"add label", "pull_requests=write"},
	{"list pulls", "pull_requests=read"}, {"get pull", "pull_requests=read"}, {"list reviews", "pull_requests=read"}, {"list commits", "pull_requests=read"},
	{"get ref", "contents=read"}, {"get commit", "contents=read"}, {"compare", "contents=read"}, {"list ", "contents=read"}, {"read ", "contents=read"},
	{"get ", "metadata=read"},
}

// Remedy is one sentence for the person who can change why a call was refused: which right is missing, and where it is given.
func (c *Client) Remedy(e *Error) string {
	where := c.settings()
	switch {
	case e.SSO != "":
		return "the organisation asks for single sign-on: authorise the token at " + e.SSO
	case e.Status == http.StatusUnauthorized:
		return "the credential is expired, revoked or wrong: make a new one at " + where
	case e.Says("suspended"):
		return "the installation is suspended: an owner lifts that at " + where
	case e.Status == http.StatusUnprocessableEntity && e.Says("not accessible to the parent installation"):
		return "the App is not installed on this repository: add it under Repository access at " + where
	case e.Kind == Moved:
		return "the repository or the API moved: check the repository's name and ghpr.base_url"
	}
	need := words(cmp.Or(first(e.Needs), c.needs(e)))
	if e.Kind == Absent {
		return fmt.Sprintf("GitHub hides what a credential may not see: check the repository's name, and give access to it, with %s, at %s", need, where)
	}
	return fmt.Sprintf("the credential lacks a right: give it %s at %s", need, where)
}

// needs is the right that a call takes, where GitHub does not say.
func (c *Client) needs(e *Error) string {
	if e.Says("workflow") {
		return "workflows=write"
	}
	for _, r := range rights {
		if strings.HasPrefix(e.Op, r.op) {
			return r.right
		}
	}
	return "contents=write; pull_requests=write"
}

// first of several ways, of which each would do: GitHub parts them by commas.
func first(needs string) string {
	needs, _, _ = strings.Cut(needs, ",")
	return strings.TrimSpace(needs)
}

// words makes contents=write; metadata=read into what stands on GitHub's pages.
func words(needs string) string {
	var out []string
	for n := range strings.SplitSeq(needs, ";") {
		name, level, _ := strings.Cut(strings.TrimSpace(n), "=")
		text := map[string]string{"write": "Read and write", "read": "Read-only"}[level]
		out = append(out, title(name)+": "+cmp.Or(text, level))
	}
	return strings.Join(out, " and ")
}

// settings is the page where the credential's rights are given.
func (c *Client) settings() string {
	page := "https://" + c.web() + "/settings/"
	switch c.kind {
	case KindApp:
		return fmt.Sprintf("%sinstallations/%d (its permissions are the App's; whoever owns the App changes those, and the new ones are accepted there)", page, c.installationID)
	case KindClassic:
		return page + "tokens"
	}
	return page + "personal-access-tokens"
}

// web is the host with the pages for people.
func (c *Client) web() string {
	host := c.wire.base.Host
	if rest, ok := strings.CutPrefix(host, "api."); ok && (rest == "github.com" || strings.HasSuffix(rest, ".ghe.com")) {
		return rest
	}
	return host
}

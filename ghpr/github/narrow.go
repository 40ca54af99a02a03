package github

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	gh "github.com/google/go-github/v66/github"
)

// narrow gives each call of an App a token that is good for the call's repository alone, and for no more than such calls take: what leaks of one repository's
// work is no key to another, and who only looks holds no key that writes.
type narrow struct {
	lg      *slog.Logger
	fresh   func(*gh.InstallationTokenOptions) http.RoundTripper
	granted func(context.Context) (map[string]string, error) // what the installation may do at all, by permission

	mu sync.Mutex
	of map[string]*renewing // by what the token is good for
}

// RoundTrip sends the request with the token of its repository and of its kind.
func (n *narrow) RoundTrip(req *http.Request) (*http.Response, error) {
	return n.forCall(req).RoundTrip(req)
}

func (n *narrow) forCall(req *http.Request) *renewing {
	key, o := scope(req.URL.Path)
	rights := wanted(isWrite(req), writesWorkflows(req.Context()))
	if key == "" {
		rights = map[string]string{"metadata": "read"}
	}
	for _, name := range asked {
		key += " " + rights[name]
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.of[key]
	if !ok {
		o.Permissions = permissions(rights)
		r = &renewing{fresh: func() http.RoundTripper { return n.fresh(&o) }, lesser: func(ctx context.Context) http.RoundTripper { return n.lesser(ctx, o, rights) }}
		r.now = r.fresh()
		n.of[key] = r
	}
	return r
}

// lesser asks for what of the rights the installation has: GitHub gives no token for a right that was not granted, not even for the others. The call that takes
// the missing one is then refused by itself, and its right is named. It gives nil if that cannot be known.
func (n *narrow) lesser(ctx context.Context, o gh.InstallationTokenOptions, rights map[string]string) http.RoundTripper {
	granted, err := n.granted(ctx)
	if err != nil {
		return nil
	}
	has, missing := map[string]string{}, []string{}
	for _, name := range asked {
		level, g := rights[name], granted[name]
		switch {
		case level == "" || g == level || g == "write" || g == "admin":
			has[name] = level
			continue
		case g != "":
			has[name] = g
		}
		missing = append(missing, name+"="+level)
	}
	n.lg.Warn("ghpr.app: the installation lacks a right; the calls that take it will be refused", "lacks", words(strings.Join(missing, ";")), "repositories", o.Repositories)
	o.Permissions = permissions(has)
	return n.fresh(&o)
}

// asked are the permissions that any call takes, by GitHub's names.
var asked = []string{"metadata", "contents", "pull_requests", "workflows"}

// wanted are the rights that a call's token has: a read's, which are all that the protocol reads, or a write's.
func wanted(write, workflows bool) map[string]string {
	if !write {
		return map[string]string{"metadata": "read", "contents": "read", "pull_requests": "read"}
	}
	out := map[string]string{"metadata": "read", "contents": "write", "pull_requests": "write"}
	if workflows {
		out["workflows"] = "write"
	}
	return out
}

// permissions are rights as GitHub takes them.
func permissions(rights map[string]string) *gh.InstallationPermissions {
	of := func(name string) *string {
		if level := rights[name]; level != "" {
			return &level
		}
		return nil
	}
	return &gh.InstallationPermissions{Metadata: of("metadata"), Contents: of("contents"), PullRequests: of("pull_requests"), Workflows: of("workflows")}
}

type workflowsKey struct{}

// WithWorkflows marks calls that bring a workflow: an App's token for their writes may do that, and no other token may.
func WithWorkflows(ctx context.Context) context.Context {
	return context.WithValue(ctx, workflowsKey{}, true)
}

func writesWorkflows(ctx context.Context) bool {
	yes, _ := ctx.Value(workflowsKey{}).(bool)
	return yes
}

// scope reads the repository from the path of a call: .../repos/OWNER/NAME/..., .../repositories/ID/.... A call about none has no repository's.
func scope(path string) (key string, o gh.InstallationTokenOptions) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		switch {
		case p == "repos" && i+2 < len(parts):
			return strings.ToLower(parts[i+1] + "/" + parts[i+2]), gh.InstallationTokenOptions{Repositories: []string{parts[i+2]}}
		case p == "repositories" && i+1 < len(parts):
			if id, err := strconv.ParseInt(parts[i+1], 10, 64); err == nil {
				return parts[i+1], gh.InstallationTokenOptions{RepositoryIDs: []int64{id}}
			}
			return "", o
		}
	}
	return "", o
}

package github

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func withToken(t *testing.T, tok string, answers ...func(*http.Request) (*http.Response, error)) *Client {
	t.Helper()
	c, err := New(slog.New(slog.DiscardHandler), Options{Token: tok, Transport: &script{answers: answers}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What kind of token it is shows in what GitHub tells of it; what warns is said in a sentence.
func TestCredentialOfToken(t *testing.T) {
	user := `{"login":"ana","id":1}`
	for name, c := range map[string]struct {
		token   string
		answer  func(*http.Request) (*http.Response, error)
		kind    CredentialKind
		login   string
		warns   string
		lacking string
		expires bool
	}{
		"fine-grained":          {"github_pat_x", answer(200, user, "Github-Authentication-Token-Expiration", "2027-01-02 03:04:05 UTC"), KindFineGrained, "ana", "", "", true},
		"classic":               {"ghp_x", answer(200, user, "X-OAuth-Scopes", "repo, read:org"), KindClassic, "ana", "classic", "", false},
		"classic of old":        {"0123456789abcdef", answer(200, user, "X-OAuth-Scopes", "read:org"), KindClassic, "ana", "classic", "the scope repo", false},
		"of a run":              {"ghs_x", answer(403, `{"message":"Resource not accessible by integration"}`), KindActions, "github-actions[bot]", "GITHUB_TOKEN", "", false},
		"nothing more is known": {"x", answer(200, user), KindOther, "ana", "", "", false},
	} {
		got, err := withToken(t, c.token, c.answer).Credential(t.Context())
		if err != nil || got.Kind != c.kind || got.Login != c.login || got.Expires.IsZero() == c.expires || strings.Join(got.Lacking(), ",") != c.lacking {
			t.Errorf("%s: %+v %v %v", name, got, got.Lacking(), err)
		}
		if w := got.Kind.Warning(); !strings.Contains(w, c.warns) || (w == "") != (c.warns == "") {
			t.Errorf("%s: %q", name, w)
		}
	}
	if login, err := withToken(t, "ghs_x", answer(403, `{}`)).Login(t.Context()); err != nil || login != "github-actions[bot]" {
		t.Errorf("%s %v", login, err)
	}
	if _, err := withToken(t, "github_pat_x", answer(401, `{"message":"Bad credentials"}`)).Credential(t.Context()); kindOf(t, err).Kind != Denied {
		t.Error(err)
	}
}

// Each refusal becomes one sentence with the right that is missing and the page where it is given.
func TestRemedy(t *testing.T) {
	pages := map[string]string{"https://api.github.com/": "https://github.com/settings/personal-access-tokens", "https://api.acme.ghe.com/": "https://acme.ghe.com/settings/personal-access-tokens",
		"https://git.acme.example/api/v3/": "https://git.acme.example/settings/personal-access-tokens"}
	for base, page := range pages {
		s := &script{answers: []func(*http.Request) (*http.Response, error){answer(403, `{"message":"Resource not accessible by personal access token"}`, "X-Accepted-GitHub-Permissions", "contents=write; metadata=read,contents=write")}}
		c, err := New(slog.New(slog.DiscardHandler), Options{BaseURL: base, Token: "github_pat_x", Transport: s})
		if err != nil {
			t.Fatal(err)
		}
		e := kindOf(t, c.CreateRef(t.Context(), "acme/shop", "pawl/x", sha))
		if got, want := c.Remedy(e), "the credential lacks a right: give it Contents: Read and write and Metadata: Read-only at "+page; got != want {
			t.Errorf("%s\n%s", got, want)
		}
	}
	c := withToken(t, "github_pat_x")
	for name, x := range map[string]struct {
		e    *Error
		want string
	}{
		"a pull request":    {&Error{Op: "create pull acme/shop pawl/x", Kind: Denied, Status: 403}, "Pull requests: Read and write"},
		"a tree":            {&Error{Op: "create tree acme/shop", Kind: Denied, Status: 403}, "Contents: Read and write"},
		"a workflow":        {&Error{Op: "create tree acme/shop", Kind: Denied, Status: 403, Message: "refusing to allow a GitHub App to create or update workflow"}, "Workflows: Read and write"},
		"a hidden one":      {&Error{Op: "get repository acme/shop", Kind: Absent, Status: 404}, "check the repository's name"},
		"an ended one":      {&Error{Op: "get own login", Kind: Denied, Status: 401}, "expired, revoked or wrong"},
		"single sign-on":    {&Error{Op: "get ref", Kind: Denied, Status: 403, SSO: "https://github.com/orgs/acme/sso?x"}, "single sign-on: authorise the token at https://github.com/orgs/acme/sso?x"},
		"a moved one":       {&Error{Op: "create ref", Kind: Moved, Status: 307}, "ghpr.base_url"},
		"a suspended one":   {&Error{Op: "create ref", Kind: Denied, Status: 403, Message: "This installation has been suspended"}, "suspended"},
		"one of no request": {&Error{Op: "", Kind: Denied, Status: 403}, "Contents: Read and write and Pull requests: Read and write"},
	} {
		if got := c.Remedy(x.e); !strings.Contains(got, x.want) || strings.ContainsAny(got, "\n") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// An App's token is good for one repository alone, on a server with a private authority below /api/v3; its rights are read, and nothing is written.
func TestAppIsNarrow(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	writes := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v3/app/installations/34/access_tokens", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var o struct {
			Repositories []string
			IDs          []int64 `json:"repository_ids"`
		}
		_ = json.Unmarshal(body, &o)
		scope := fmt.Sprint(o.Repositories, o.IDs)
		mu.Lock()
		asked = append(asked, scope)
		mu.Unlock()
		if strings.Contains(scope, "foreign") {
			w.WriteHeader(422)
			fmt.Fprint(w, `{"message":"There is at least one repository that does not exist or is not accessible to the parent installation."}`)
			return
		}
		w.WriteHeader(201)
		fmt.Fprintf(w, `{"token":%q,"expires_at":"2099-01-01T00:00:00Z"}`, "token for "+scope)
	})
	mux.HandleFunc("GET /api/v3/app", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"id":12,"slug":"pawl"}`) })
	mux.HandleFunc("GET /api/v3/app/installations/34", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"id":34,"repository_selection":"selected","permissions":{"contents":"write","pull_requests":"read","metadata":"read"}}`)
	})
	repo := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"id":7,"full_name":"acme/shop","owner":{"login":"acme"},"default_branch":%q}`, r.Header.Get("Authorization"))
	}
	mux.HandleFunc("GET /api/v3/repos/{o}/{n}", repo)
	mux.HandleFunc("GET /api/v3/repositories/{id}", repo)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/access_tokens") {
			writes++
		}
		mux.ServeHTTP(w, r)
	}))
	defer srv.Close()
	network, err := Network(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(slog.New(slog.DiscardHandler), Options{BaseURL: srv.URL + "/api/v3/", Transport: network,
		App: App{ID: 12, InstallationID: 34, PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, name := range []string{"acme/shop", "acme/store"} {
			_, short, _ := strings.Cut(name, "/")
			if r, err := c.Repo(t.Context(), name); err != nil || !strings.Contains(r.DefaultBranch, "token for ["+short+"] []") {
				t.Errorf("%+v %v", r, err)
			}
		}
		if r, err := c.RepoByID(t.Context(), 7); err != nil || !strings.Contains(r.DefaultBranch, "token for [] [7]") {
			t.Errorf("%+v %v", r, err)
		}
	}
	if len(asked) != 3 {
		t.Errorf("tokens: %v", asked)
	}
	_, err = c.Repo(t.Context(), "acme/foreign")
	if e := kindOf(t, err); !strings.Contains(c.Remedy(e), "not installed on this repository") || !strings.Contains(c.Remedy(e), "/settings/installations/34") {
		t.Errorf("%v: %s", e, c.Remedy(e))
	}
	got, err := c.Credential(t.Context())
	if err != nil || got.Kind != KindApp || got.Login != "pawl[bot]" || !got.Selected || strings.Join(got.Lacking(), ",") != "Pull requests: Read and write" || writes != 0 {
		t.Errorf("%+v %v %v", got, got.Lacking(), err)
	}
}

package main

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/config"
)

// TestDoctorAsksGitHub: against a server with an authority of its own, what is wrong with a credential and a target is said with what to do, and
// nothing is written.
func TestDoctorAsksGitHub(t *testing.T) {
	wrote, scopes, pulls := 0, "", 200
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			wrote++
		}
		sha := strings.Repeat("a", 40)
		switch strings.TrimPrefix(r.URL.Path, "/api/v3") {
		case "/user":
			if scopes != "" {
				w.Header().Set("X-OAuth-Scopes", scopes)
			}
			w.Header().Set("Github-Authentication-Token-Expiration", "2020-01-02 03:04:05 UTC")
			fmt.Fprint(w, `{"login":"ana"}`)
		case "/repos/acme/shop":
			fmt.Fprint(w, `{"id":7,"full_name":"acme/shop","owner":{"login":"acme"},"default_branch":"trunk","private":true,"permissions":{"push":true}}`)
		case "/repos/acme/shop/git/ref/heads/trunk":
			fmt.Fprint(w, `{"ref":"refs/heads/trunk","object":{"sha":"`+sha+`"}}`)
		case "/repos/acme/shop/pulls":
			if pulls != 200 {
				w.WriteHeader(pulls)
				fmt.Fprint(w, `{"message":"Resource not accessible by personal access token"}`)
				return
			}
			fmt.Fprint(w, `[]`)
		default:
			w.WriteHeader(404)
			fmt.Fprint(w, `{"message":"Not Found"}`)
		}
	}))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(token string, change func(*config.Config)) string {
		cfg := config.Default()
		cfg.GHPR.BaseURL, cfg.GHPR.Token, cfg.GHPR.CA = srv.URL+"/api/v3/", config.NewSecret(token), ca
		cfg.Targets = []config.Target{{Service: "*", Repo: "acme/shop", Base: "default", Set: "regressions"}}
		if change != nil {
			change(&cfg)
		}
		d := doctor{app: &app{log: slog.New(slog.DiscardHandler)}, online: true}
		d.github(t.Context(), cfg)
		var out strings.Builder
		for _, c := range d.checks {
			fmt.Fprintf(&out, "%s %s: %s -> %s\n", map[bool]string{true: "ok", false: "not"}[c.Level == sight.OK], c.About, c.What, c.Remedy)
		}
		return out.String()
	}
	for _, c := range []struct {
		name, token, scopes string
		pulls               int
		change              func(*config.Config)
		want                []string
	}{
		{"fine-grained", "github_pat_x", "", 200, nil, []string{"as ana", "not ghpr.token: the token ends on 2020-01-02", "acme/shop has branch trunk", "shows only when it does"}},
		{"classic", "ghp_x", "repo", 200, nil, []string{"not ghpr.token: it is a classic token", "and pawl may write"}},
		{"too little", "ghp_x", "gist", 200, nil, []string{"lacks the scope repo"}},
		{"no pull requests", "github_pat_x", "", 403, nil, []string{"cannot be listed", "Pull requests: Read-only at https://127.0.0.1"}},
		{"hidden", "github_pat_x", "", 200, func(c *config.Config) { c.Targets[0].Repo = "acme/other" }, []string{"check the repository's name"}},
		{"no such branch", "github_pat_x", "", 200, func(c *config.Config) { c.Targets[0].Base = "main" }, []string{"default branch is trunk (base: default follows it)"}},
		{"no authority", "github_pat_x", "", 200, func(c *config.Config) { c.GHPR.CA = "" }, []string{"ghpr.ca in pawl.yaml"}},
		{"nothing there", "github_pat_x", "", 200, func(c *config.Config) { c.GHPR.BaseURL = "http://127.0.0.1:1/" }, []string{"is reached from here"}},
	} {
		scopes, pulls = c.scopes, c.pulls
		got := ask(c.token, c.change)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, got)
			}
		}
	}
	if wrote != 0 {
		t.Errorf("%d writes", wrote)
	}
}

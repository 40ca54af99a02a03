package ghpr

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
	"github.com/pawl-dev/pawl/test/fakegithub"
)

func keyPair(t *testing.T) (private, public []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub})
}

// A GitHub App opens the pull request as its bot, and gets a new token when the old one runs out.
func TestApp(t *testing.T) {
	private, public := keyPair(t)
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		must(t, g.fake.AddApp(fakegithub.App{ID: 12, Slug: "pawl-app", InstallationID: 34, PublicKey: public}))
		o := g.opt
		o.Token, o.App = "", App{ID: 12, InstallationID: 34, PrivateKey: private}
		r, err := New(quiet(), o)
		must(t, err)
		in := frozen(t, change())
		out, err := r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return nil })
		must(t, err)
		checkWorld(t, g, in)
		if p := g.fake.Pulls("acme", "shop")[0]; p.Author != "pawl-app[bot]" || !out.Done() {
			t.Errorf("%+v", p)
		}
		time.Sleep(3 * time.Hour)
		if out, err = r.Observe(t.Context(), time.Now(), out); err != nil || out.Receipt.State != StateOpen {
			t.Errorf("after the token ran out: %v %+v", err, out.Receipt)
		}
		o.App.InstallationID = 35
		r, err = New(quiet(), o)
		must(t, err)
		_, err = r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return nil })
		if e, ok := errors.AsType[*github.Error](err); !ok || e.Kind != github.Absent || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("a wrong installation: %v", err)
		}
	})
}

// TestAppRights: tokens of an App are good for one repository and for no more than their calls take. What looks holds none that writes; only an onboarding with
// a workflow holds one for workflows; and each right that the installation lacks is named, one at a time, and used as soon as it is granted.
func TestAppRights(t *testing.T) {
	private, public := keyPair(t)
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		must(t, g.fake.AddRepo("acme", "store", ""))
		must(t, g.fake.AddApp(fakegithub.App{ID: 12, Slug: "pawl-app", InstallationID: 34, PublicKey: public, Permissions: map[string]string{"metadata": "read"}}))
		g.opt.Token, g.opt.App = "", App{ID: 12, InstallationID: 34, PrivateKey: private}
		r := g.reconciler(t)
		c := change()
		c.Kind, c.Dir = KindOnboard, "regressions"
		c.Files = []File{{Path: ".github/workflows/pawl.yml", Content: "on: push\n"}, {Path: "regressions/loop/loop-3f9a1c02d4/case.yaml", Content: "kind: Case\n"}}
		in := frozen(t, c)
		rights := map[string]string{"metadata": "read"}
		for _, lacks := range []struct{ right, level, words string }{
			{"pull_requests", "read", "Pull requests: Read-only"}, {"contents", "read", "Contents: Read-only"}, {"contents", "write", "Contents: Read and write"},
			{"workflows", "write", "Workflows: Read and write"}, {"pull_requests", "write", "Pull requests: Read and write"},
		} {
			in = round(t, r, in)
			if in.Parked != nil || !strings.Contains(in.Waiting, "give it "+lacks.words+" at https://") || strings.Contains(in.Waiting, "ghs_") {
				t.Fatalf("without %s: %+v %q", lacks.words, in.Parked, in.Waiting)
			}
			rights = maps.Clone(rights)
			rights[lacks.right] = lacks.level
			must(t, g.fake.Grant(34, rights))
		}
		if in = round(t, r, in); !in.Done() {
			t.Fatalf("with all rights: %q", in.Waiting)
		}
		if p := g.fake.Pulls("acme", "shop"); len(p) != 1 || p[0].Author != "pawl-app[bot]" {
			t.Errorf("%+v", p)
		}
		for _, tok := range g.fake.Tokens() {
			if len(tok.Repos) != 1 {
				t.Errorf("a token for repositories %v", tok.Repos)
			}
		}
		before := len(g.fake.Tokens())
		r = g.reconciler(t) // a new process
		x := change()
		x.Repo = "acme/store"
		if _, err := r.Preview(t.Context(), time.Now(), frozen(t, x)); err != nil {
			t.Fatal(err)
		}
		for _, tok := range g.fake.Tokens()[before:] {
			for name, level := range tok.Permissions {
				if level != "read" {
					t.Errorf("a preview holds %s: %s", name, level)
				}
			}
		}
		if _, err := r.Reconcile(t.Context(), time.Now(), frozen(t, x), func(context.Context, Intent) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for _, tok := range g.fake.Tokens()[before:] {
			if tok.Permissions["workflows"] != "" {
				t.Error("a token for workflows, of a change without any")
			}
		}
	})
}

// round reconciles once, an hour later: whatever was waited for is over.
func round(t *testing.T, r *Reconciler, in Intent) Intent {
	t.Helper()
	for range 12 { // a search goes on by itself
		time.Sleep(time.Hour)
		out, err := r.Reconcile(t.Context(), time.Now(), in, func(context.Context, Intent) error { return nil })
		if e, ok := errors.AsType[*github.Error](err); err != nil && (!ok || e.Kind == github.Unknown) {
			t.Fatal(err)
		}
		if in = out; len(in.Search) == 0 || in.Asleep {
			break
		}
	}
	return in
}

package ghpr

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
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

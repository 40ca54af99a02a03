package main

import (
	"fmt"
	"net/http"
	"os"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ghpr/github"
	"github.com/pawl-dev/pawl/ghpr/hook"
	"github.com/pawl-dev/pawl/ratchet"
)

// networkOf is the way to GitHub, as the configuration says it.
func networkOf(g config.GHPR) (http.RoundTripper, error) {
	var ca []byte
	if g.CA != "" {
		var err error
		if ca, err = os.ReadFile(g.CA); err != nil {
			return nil, fmt.Errorf("ghpr.ca: %w", err)
		}
	}
	return github.Network(ca, g.Proxy)
}

// hooks is the handler of GitHub's webhooks, nil where none are configured or no pull requests are driven in this process. They wake the absorber and
// say nothing that is believed.
func (s *server) hooks() (http.Handler, error) {
	if len(s.cfg.GHPR.Hooks) == 0 || !s.plays(roleAbsorb) {
		return nil, nil
	}
	o := hook.Options{Prefix: ghpr.DefaultPrefix, Wake: func(e hook.Event) { s.absorber.Wake(ratchet.Woken{RepoID: e.RepoID, Names: e.Names}) }}
	for _, secret := range s.cfg.GHPR.Hooks {
		o.Secrets = append(o.Secrets, secret.Reveal())
	}
	d, err := hook.New(s.lg, o)
	if err != nil {
		return nil, usageError(err, "ghpr.webhook_secrets in pawl.yaml")
	}
	return d, nil
}

package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/config"
)

// TestWebhookIsServed: with a secret the service answers GitHub's deliveries, signed ones alone; without one there is no such door.
func TestWebhookIsServed(t *testing.T) {
	const body = `{"action":"closed","pull_request":{"head":{"ref":"pawl/x"}},"repository":{"id":1,"full_name":"acme/shop"}}`
	mac := hmac.New(sha256.New, []byte("a secret"))
	mac.Write([]byte(body))
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	for name, c := range map[string]struct {
		secrets   []config.Secret
		signature string
		code      int
	}{
		"signed":    {[]config.Secret{config.NewSecret("another"), config.NewSecret("a secret")}, signature, http.StatusAccepted},
		"unsigned":  {[]config.Secret{config.NewSecret("another")}, signature, http.StatusUnauthorized},
		"no secret": {nil, signature, 0},
	} {
		cfg := config.Default()
		cfg.DataDir, cfg.GHPR.Hooks = t.TempDir(), c.secrets
		cfg.Listen = config.Listen{HTTP: "127.0.0.1:0"}
		a := &app{log: slog.New(slog.DiscardHandler)}
		s, err := a.newServer(t.Context(), cfg, allRoles, servicePace)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/webhooks/github", strings.NewReader(body))
		r.Header.Set("X-Hub-Signature-256", c.signature)
		r.Header.Set("X-GitHub-Event", "pull_request")
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if c.code != 0 && w.Code != c.code || c.code == 0 && w.Code < 400 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	cfg := config.Default()
	cfg.DataDir, cfg.Listen, cfg.GHPR.Hooks = t.TempDir(), config.Listen{HTTP: "127.0.0.1:0"}, []config.Secret{config.NewSecret("")}
	if s, err := (&app{log: slog.New(slog.DiscardHandler)}).newServer(t.Context(), cfg, allRoles, servicePace); err == nil {
		t.Error("it starts with an empty secret", s.close())
	}
}

// TestNetworkOptions: authorities that cannot be read are said at the start.
func TestNetworkOptions(t *testing.T) {
	cfg := config.Default()
	cfg.GHPR.CA = filepath.Join(t.TempDir(), "absent.pem")
	if _, err := ghprOptions(cfg); err == nil || !strings.Contains(err.Error(), "ghpr.ca") {
		t.Error(err)
	}
	if err := os.WriteFile(cfg.GHPR.CA, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ghprOptions(cfg); err == nil {
		t.Error("authorities without a certificate")
	}
}

package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// TestMeaning configures an endpoint that finds all texts alike: other words pass then, and what they contradict does not.
func TestMeaning(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %s with %q", r.URL, r.Header.Get("Authorization"))
		}
		_, _ = fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}`)
	}))
	defer srv.Close()
	a := &app{log: slog.New(slog.DiscardHandler)}
	cfg := config.Default()
	said := func(reply string) *trajectory.Trajectory {
		return &trajectory.Trajectory{TraceID: "a", Reply: &reply, ModelCalls: []trajectory.ModelCall{{Text: reply}}, Complete: trajectory.Completeness{HasRoot: true}}
	}
	c := &regcase.Case{Form: "never", Expect: regcase.Expect{Response: &regcase.Response{Text: "Your order has shipped."}}}
	for _, v := range []struct {
		url, reply string
		want       oracle.Verdict
	}{
		{"", "We have sent your package.", oracle.Inconclusive},
		{srv.URL + "/v1", "We have sent your package.", oracle.Pass},
		{srv.URL + "/v1", "Your order has not shipped.", oracle.Fail},
	} {
		cfg.Gate.Embeddings = config.Embeddings{BaseURL: v.url, Model: "m", APIKey: config.NewSecret("k")}
		o, err := a.judgeOf(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if j := o.Judge(c, said(v.reply)); j.Verdict != v.want {
			t.Errorf("%q at %q: %s %s, want %s", v.reply, v.url, j.Verdict, j.Reason, v.want)
		}
	}
	cfg.Gate.Embeddings = config.Embeddings{BaseURL: "api.openai.com", Model: "m"}
	if _, err := a.judgeOf(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "https://host/v1") {
		t.Errorf("error is %v", err)
	}
}

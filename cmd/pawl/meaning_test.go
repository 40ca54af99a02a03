package main

import (
	"encoding/base64"
	"fmt"
	"io"
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

// TestMeaningLeaksNothing: what the endpoint is asked holds no person and no secret of the agent's replies, values that were equal stay equal, and what redaction
// does not know and the last look does is not sent at all: then nothing is decided.
func TestMeaningLeaksNothing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		_, _ = fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}`)
	}))
	defer srv.Close()
	cfg := config.Default()
	cfg.Redact.Canaries = []string{"quokka-7781"}
	cfg.Gate.Embeddings = config.Embeddings{BaseURL: srv.URL + "/v1", Model: "m"}
	o, err := (&app{log: slog.New(slog.DiscardHandler)}).judgeOf(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for reply, sent := range map[string]bool{
		"We have written to you, see maya.lind@acme-mail.org, about it.":                               true,
		"We have written to you, the quokka-7781 one.":                                                 false,
		"We have written, see " + base64.StdEncoding.EncodeToString([]byte("quokka-7781 is it")) + ".": false,
	} {
		asked = nil
		c := &regcase.Case{Form: "never", Expect: regcase.Expect{Response: &regcase.Response{Text: "An email went out to you."}}}
		j := o.Judge(c, &trajectory.Trajectory{TraceID: "a", Reply: &reply, ModelCalls: []trajectory.ModelCall{{Text: reply}}, Complete: trajectory.Completeness{HasRoot: true}})
		if all := strings.Join(asked, "\n"); strings.Contains(all, "maya") || strings.Contains(all, "quokka") || (len(asked) > 0) != sent || sent && !strings.Contains(all, "email-1@example.com") {
			t.Errorf("%s: asked %q", reply, asked)
		}
		if !sent && (j.Verdict != oracle.Inconclusive || !strings.Contains(j.Reason, "not sent: redact: ")) {
			t.Errorf("%s: %s %s", reply, j.Verdict, j.Reason)
		}
	}
}

package llm_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/classify/judge/llm"
	"github.com/pawl-dev/pawl/classify/judge/llm/llmtest"
)

var update = flag.Bool("update", false, "write the golden files")

const schema = `{"type":"object","properties":{"why":{"type":"string"},"label":{"type":"string"}},"required":["why","label"],"additionalProperties":false}`

var apis = []string{llm.OpenAI, llm.Anthropic}

func client(t *testing.T, api string, m *llmtest.Model, change ...func(*llm.Options)) *llm.Client {
	t.Helper()
	o := llm.Options{API: api, Model: "model-1", Key: "sk-secret", Transport: m, Temperature: new(0.0), MaxTokens: 100, Price: &llm.Price{In: 2, Out: 10}}
	for _, f := range change {
		f(&o)
	}
	c, err := llm.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func question() llm.Request {
	return llm.Request{
		System: "be brief", Schema: []byte(schema), Name: "judgement", Seed: new(int64(7)),
		Turns: []llm.Turn{{Role: llm.RoleUser, Text: "one < two?"}, {Role: llm.RoleAssistant, Text: "yes"}, {Role: llm.RoleUser, Text: "why?"}},
	}
}

func TestGoldenRequests(t *testing.T) {
	for _, api := range apis {
		m := llmtest.Script(
			llmtest.Reply{Text: `{"why":"x","label":"y"}`, InputTokens: 1000, OutputTokens: 100},
			llmtest.Reply{Status: 400, Field: "response_format", Text: "output_config.format: response_format is not supported by this model"},
			llmtest.Reply{Text: `{"why":"x","label":"y"}`},
		)
		c := client(t, api, m)
		a, err := c.Ask(t.Context(), question())
		if err != nil || a.Text != `{"why":"x","label":"y"}` || a.Model != "model-1" || a.USD == nil || *a.USD != 0.003 {
			t.Fatalf("%s: %+v, %v", api, a, err)
		}
		if a, err := c.Ask(t.Context(), question()); err != nil || a.Text != `{"why":"x","label":"y"}` {
			t.Fatalf("%s, other form: %+v, %v", api, a, err)
		}
		plain := question()
		plain.Schema = nil
		if _, err := c.Ask(t.Context(), plain); err != nil {
			t.Fatal(err)
		}
		got := m.Requests()
		if len(got) != 4 {
			t.Fatalf("%s: %d requests", api, len(got))
		}
		for name, i := range map[string]int{"form": 0, "otherform": 2, "text": 3} {
			golden(t, api+"-"+name+".txt", got[i].Golden())
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if strings.Contains(string(got), "sk-secret") {
		t.Errorf("%s holds the key", name)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != string(got) {
		t.Errorf("%s differs (-update writes it): %v\n%s", name, err, got)
	}
}

// TestFieldsThatAModelRefuses: each is left out after one refusal, of this request and of those that follow; a refusal that stays is told.
func TestFieldsThatAModelRefuses(t *testing.T) {
	for _, api := range apis {
		m := llmtest.Func(func(r llmtest.Recorded) llmtest.Reply {
			switch body := string(r.Body); {
			case strings.Contains(body, `"temperature"`):
				return llmtest.Reply{Status: 400, Field: "temperature", Text: "Unsupported value: 'temperature' does not support 0 with this model."}
			case api == llm.OpenAI && strings.Contains(body, `"max_completion_tokens"`):
				return llmtest.Reply{Status: 422, Text: "max_completion_tokens: extra inputs are not permitted"}
			}
			return llmtest.Reply{Text: "fine"}
		})
		c := client(t, api, m)
		for range 2 {
			if a, err := c.Ask(t.Context(), question()); err != nil || a.Text != "fine" {
				t.Fatalf("%s: %+v, %v", api, a, err)
			}
		}
		if n := len(m.Requests()); n != map[string]int{llm.OpenAI: 4, llm.Anthropic: 3}[api] {
			t.Errorf("%s: %d requests", api, n)
		}
		m = llmtest.Script(llmtest.Reply{Status: 400, Text: "temperature: no"})
		_, err := client(t, api, m).Ask(t.Context(), question())
		if refused, ok := errors.AsType[*llm.Refused](err); !ok || refused.Status != 400 || len(m.Requests()) != 2 {
			t.Errorf("%s: %v after %d requests", api, err, len(m.Requests()))
		}
	}
}

func TestWhatGoesWrong(t *testing.T) {
	for _, api := range apis {
		for name, c := range map[string]struct {
			reply   llmtest.Reply
			refused bool
			status  int
			wait    time.Duration
		}{
			"wrong key":     {llmtest.Reply{Status: 401, Text: "Incorrect API key provided: sk-secret"}, true, 401, 0},
			"no such model": {llmtest.Reply{Status: 404, Text: "model: model-1"}, true, 404, 0},
			"too long":      {llmtest.Reply{Status: 400, Text: "max_tokens and input exceed the context"}, true, 400, 0},
			"busy":          {llmtest.Reply{Status: 429, Text: "slow down", Header: map[string]string{"Retry-After": "7"}}, false, 429, 7 * time.Second},
			"overloaded":    {llmtest.Reply{Status: 529, Text: "overloaded"}, false, 529, 0},
			"a proxy":       {llmtest.Reply{Status: 502, Body: []byte("<html>bad gateway</html>"), Header: map[string]string{"Content-Type": "text/html"}}, false, 502, 0},
			"no line":       {llmtest.Reply{Err: errors.New("connection refused by sk-secret")}, false, 0, 0},
			"not json":      {llmtest.Reply{Body: []byte("hello"), Header: map[string]string{"Content-Type": "text/plain"}}, false, 0, 0},
			"broken json":   {llmtest.Reply{Body: []byte(`{"choices":[`)}, false, 0, 0},
			"other json":    {llmtest.Reply{Body: []byte(`{}`)}, false, 0, 0},
			"declined":      {llmtest.Reply{Refusal: "I cannot help with that", InputTokens: 10, OutputTokens: 5}, true, 200, 0},
			"nothing said":  {llmtest.Reply{Text: "", InputTokens: 10}, true, 200, 0},
		} {
			m := llmtest.Script(c.reply)
			a, err := client(t, api, m).Ask(t.Context(), question())
			if err == nil || strings.Contains(err.Error(), "sk-secret") || a.Text != "" {
				t.Errorf("%s, %s: %+v, %v", api, name, a, err)
				continue
			}
			refused, isRefused := errors.AsType[*llm.Refused](err)
			unavailable, isUnavailable := errors.AsType[*llm.Unavailable](err)
			switch {
			case isRefused != c.refused || isUnavailable == c.refused:
				t.Errorf("%s, %s: %T %v", api, name, err, err)
			case c.refused && (refused.Status != c.status || c.status == 200 && refused.Answer.USD == nil):
				t.Errorf("%s, %s: %+v", api, name, refused)
			case !c.refused && (unavailable.Status != c.status || unavailable.RetryAfter != c.wait):
				t.Errorf("%s, %s: %+v", api, name, unavailable)
			case len(m.Requests()) != 1:
				t.Errorf("%s, %s: %d requests", api, name, len(m.Requests()))
			}
		}
	}
}

func TestACutAnswerSaysSo(t *testing.T) {
	for _, api := range apis {
		a, err := client(t, api, llmtest.Script(llmtest.Reply{Text: `{"why":"x`, Cut: true})).Ask(t.Context(), question())
		if err != nil || !a.Cut || a.Text != `{"why":"x` {
			t.Errorf("%s: %+v, %v", api, a, err)
		}
	}
}

func TestTimesAndEndings(t *testing.T) {
	for _, api := range apis {
		synctest.Test(t, func(t *testing.T) {
			hang := func(o *llm.Options) { o.Timeout, o.Transport = 5*time.Second, hanging{} }
			start := time.Now()
			_, err := client(t, api, nil, hang).Ask(t.Context(), question())
			if _, ok := errors.AsType[*llm.Unavailable](err); !ok || time.Since(start) != 5*time.Second {
				t.Errorf("%s: %v after %s", api, err, time.Since(start))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := client(t, api, nil, hang).Ask(ctx, question()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", api, err)
			}
		})
	}
}

type hanging struct{}

func (hanging) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// TestNothingLeavesItsHost: a redirect is not followed, an answer without end is cut, and the environment changes nothing.
func TestNothingLeavesItsHost(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"} {
		t.Setenv(name, "http://127.0.0.1:1/: from-the-environment")
	}
	for _, api := range apis {
		var strayed atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
		home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "from-the-environment") {
					t.Errorf("%s: header %s is %q", api, name, values)
				}
			}
			if r.URL.Query().Get("endless") == "" {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			}
		}))
		_, err := client(t, api, nil, func(o *llm.Options) { o.BaseURL, o.Transport = home.URL, nil }).Ask(t.Context(), question())
		if refused, ok := errors.AsType[*llm.Refused](err); !ok || strayed.Load() != 0 || !strings.Contains(refused.Error(), "redirects") {
			t.Errorf("%s: %v, strayed %d", api, err, strayed.Load())
		}
		other.Close()
		home.Close()
		endless := llmtest.Script(llmtest.Reply{Body: make([]byte, 8<<20)})
		if _, err := client(t, api, endless).Ask(t.Context(), question()); err == nil {
			t.Errorf("%s: an endless answer was taken", api)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]llm.Options{
		"no api":       {Model: "m"},
		"no model":     {API: llm.OpenAI},
		"no url":       {API: llm.OpenAI, Model: "m", BaseURL: "api.openai.com"},
		"other scheme": {API: llm.Anthropic, Model: "m", BaseURL: "file:///etc/passwd"},
		"password":     {API: llm.Anthropic, Model: "m", BaseURL: "https://a:b@c"},
	} {
		if _, err := llm.New(o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

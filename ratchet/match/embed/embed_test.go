package embed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

var quiet = slog.New(slog.DiscardHandler)

// letters is an endpoint whose vectors count letters; it answers out of order, as the API allows.
func letters(t *testing.T, asked *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model string   `json:"model"`
			Input []string `json:"input"`
		}
		if err := json.UnmarshalRead(r.Body, &in); err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer k" || in.Model != "m" {
			t.Errorf("request is %v %v %v", err, r.URL, in)
		}
		asked.Add(int64(len(in.Input)))
		var parts []string
		for i, s := range slices.Backward(in.Input) {
			v := make([]string, 26)
			for n := range v {
				v[n] = fmt.Sprint(strings.Count(strings.ToLower(s), string(rune('a'+n))))
			}
			parts = append(parts, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%s]}`, i, strings.Join(v, ",")))
		}
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"usage":{"total_tokens":1}}`, strings.Join(parts, ","))
	}
}

func TestEmbed(t *testing.T) {
	var asked atomic.Int64
	srv := httptest.NewServer(letters(t, &asked))
	defer srv.Close()
	dir := t.TempDir()
	c, err := New(quiet, Options{URL: srv.URL + "/v1/", Model: "m", Key: "k", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Embed(t.Context(), "ab", "bbb", "ab")
	if err != nil || len(v) != 3 || v[0][0] != 1 || v[1][1] != 3 || !slices.Equal(v[0], v[2]) || asked.Load() != 2 {
		t.Fatalf("%v %v, asked for %d", v, err, asked.Load())
	}
	again, err := New(quiet, Options{URL: srv.URL + "/v1", Model: "m", Key: "k", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if w, err := again.Embed(t.Context(), "bbb", "ab"); err != nil || !slices.Equal(w[0], v[1]) || asked.Load() != 2 {
		t.Errorf("%v %v, asked for %d", w, err, asked.Load())
	}
	files, err := filepath.Glob(dir + "/*/*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files { // what is broken on disk is asked for again
		if err := os.WriteFile(f, []byte("rubbish!"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := again.Embed(t.Context(), "bbb"); err != nil || !slices.Equal(w[0], v[1]) || asked.Load() != 3 {
		t.Errorf("%v %v, asked for %d", w, err, asked.Load())
	}
	var many []string
	for i := range 200 {
		many = append(many, strings.Repeat("z", i+1))
	}
	if w, err := c.Embed(t.Context(), many...); err != nil || w[199][25] != 200 {
		t.Error(err)
	}
	m := match.Matcher{Embed: c.Embedder(t.Context())}
	if a := m.Response(&regcase.Response{Text: "The parcel was sent.", Threshold: 0.9}, "The parcel was sent out."); !a.Holds() {
		t.Errorf("%+v", a)
	}
	if a := m.Response(&regcase.Response{Text: "The parcel was sent.", Threshold: 0.9}, "Good morning, how are you?"); len(a.Mismatches) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		says   []string
	}{
		{"a wrong key", 401, `{"error":{"message":"Incorrect API key provided: sk-secret"}}`, []string{"401", "***", "check the key"}},
		{"no such path", 404, `not here`, []string{"404", "not here", "/v1", "model m"}},
		{"moved", 301, ``, []string{"301", "redirects"}},
		{"no JSON", 200, `<html>`, []string{"not what the API promises"}},
		{"too few", 200, `{"data":[]}`, []string{"no usable vector"}},
		{"another index", 200, `{"data":[{"index":3,"embedding":[1]}]}`, []string{"index 3"}},
		{"twice", 200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, []string{"index 0"}},
		{"empty vector", 200, `{"data":[{"index":0,"embedding":[]}]}`, []string{"no usable vector"}},
		{"no number", 200, `{"data":[{"index":0,"embedding":["x"]}]}`, []string{"not what the API promises"}},
		{"busy for ever", 503, `busy`, []string{"503", "try again later"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer srv.Close()
			client, err := New(quiet, Options{URL: srv.URL, Model: "m", Key: "sk-secret", Tries: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Embed(t.Context(), "a")
			if err == nil || strings.Contains(err.Error(), "sk-secret") {
				t.Fatalf("error is %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			a := match.Matcher{Embed: client.Embedder(t.Context())}.Response(&regcase.Response{Text: "a b"}, "c d")
			if len(a.Mismatches) > 0 || len(a.Undecided) != 1 {
				t.Errorf("an endpoint that does not answer decides: %+v", a)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		c, err := New(quiet, Options{URL: "http://x/v1", Model: "m", Client: roundTrip(func(r *http.Request) (*http.Response, error) {
			tries++
			res := &http.Response{StatusCode: 429, Status: "429 Too Many Requests", Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader(""))}
			switch tries {
			case 2:
				return nil, errors.New("connection reset")
			case 3:
				res.StatusCode, res.Body = 200, io.NopCloser(strings.NewReader(`{"data":[{"index":0,"embedding":[1,2]}]}`))
			}
			return res, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Embed(t.Context(), "a"); err != nil || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("waited %s", took)
		}
		tries = 0
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := c.Embed(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) || tries != 1 {
			t.Errorf("%v after %d tries", err, tries)
		}
	})
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {URL: "api.openai.com/v1", Model: "m"}, {URL: "https://u:p@host/v1", Model: "m"}, {URL: "https://host/v1"}, {URL: "ftp://host", Model: "m"}} {
		if _, err := New(quiet, o); err == nil || strings.Contains(err.Error(), ":p@") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

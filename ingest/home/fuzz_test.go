package home_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/home"
	"github.com/pawl-dev/pawl/test/fakehomes"
)

// fuzzKind has a home answer everything with the same bytes: nothing panics, nothing goes on without end, and what is found is of one trace.
func fuzzKind(f *testing.F, kind home.Kind) {
	files, err := filepath.Glob(filepath.Join("testdata", string(kind), "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	for _, text := range []string{`{"traces":[{"traceID":".."},{}]}`, `{"services":["x"]}`, `{"error":{"httpCode":404}}`, `[{"id":"11111111-2222-4333-8444-555555555555"}]`, `{"data":[{"id":"../x"}],"meta":{"totalPages":9}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		asked := 0
		h, err := home.New(quiet, home.Options{Kind: kind, URL: "http://home.example.com", Key: "k", Secret: "s", Project: "shop", MaxBytes: 1 << 16, Transport: tripper(func(r *http.Request) *http.Response {
			if asked++; strings.Contains(r.URL.Path, "..") || r.URL.Host != "home.example.com" {
				t.Errorf("asked %s", r.URL)
			}
			rec := httptest.NewRecorder()
			if asked > 40 { // a home that lies can lead on for as long as the bound on pages
				rec.WriteHeader(http.StatusForbidden)
				return rec.Result()
			}
			_, _ = rec.Write(content)
			return rec.Result()
		})})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := h.Trace(t.Context(), fakehomes.LangSmithTrace, time.Time{}); err == nil {
			if n := len(built(a.Data)); n != 1 || a.Spans == 0 {
				t.Errorf("%d traces, %d spans", n, a.Spans)
			}
		}
		now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		for range h.Window(t.Context(), home.Window{From: now.Add(-time.Hour), To: now, MaxTraces: 10}) {
		}
	})
}

type tripper func(*http.Request) *http.Response

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func FuzzLangfuse(f *testing.F)  { fuzzKind(f, home.Langfuse) }
func FuzzLangSmith(f *testing.F) { fuzzKind(f, home.LangSmith) }
func FuzzPhoenix(f *testing.F)   { fuzzKind(f, home.Phoenix) }
func FuzzJaeger(f *testing.F)    { fuzzKind(f, home.Jaeger) }
func FuzzTempo(f *testing.F)     { fuzzKind(f, home.Tempo) }

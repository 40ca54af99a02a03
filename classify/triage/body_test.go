package triage

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// What is too large is said to be, wherever something is sent; what is no JSON is told the form.
func TestBodies(t *testing.T) {
	src := testSource()
	src.Flag = func(context.Context, string, []byte) (flag.Flag, error) {
		return flag.Flag{}, &Unusable{Reason: "no JSON"}
	}
	h := New(slog.New(slog.DiscardHandler), src, Options{Tokens: []Token{{Name: "ana", Token: "one", Decides: true, Admin: true}}})
	tried := 0
	for _, r := range new(handler).routes() {
		method, path, _ := strings.Cut(r.pattern, " ")
		if r.body == nil || r.name == "erase" || r.name == "editCase" { // those ask first whether there is anything to do it with
			continue
		}
		tried++
		for body, want := range map[string]int{strings.Repeat("x", 1<<20): http.StatusRequestEntityTooLarge, "{": http.StatusBadRequest} {
			req := httptest.NewRequest(method, strings.ReplaceAll(path, "{id}", "loop-1"), strings.NewReader(body))
			req.Host = "localhost"
			req.Header.Set("Authorization", "Bearer one")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != want {
				t.Errorf("%s: %d, want %d: %s", r.pattern, w.Code, want, w.Body)
			}
		}
	}
	if tried < 4 {
		t.Errorf("%d routes take a body", tried)
	}
}

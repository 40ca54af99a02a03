package github

import (
	"net/http"
	"strings"
	"testing"
)

// A read that was made before is asked with its tag, and an answer that nothing changed is the one from before, with its pages; a change is seen at once.
func TestConditional(t *testing.T) {
	ref := func(b string) string {
		return `{"ref":"refs/heads/main","object":{"sha":"` + strings.Repeat(b, 40) + `"}}`
	}
	asks := func(tag string, next func(*http.Request) (*http.Response, error)) func(*http.Request) (*http.Response, error) {
		return func(req *http.Request) (*http.Response, error) {
			if got := req.Header.Get("If-None-Match"); got != tag {
				t.Errorf("asked with %q, want %q", got, tag)
			}
			return next(req)
		}
	}
	same := answer(304, "", "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000")
	c, s := client(t, Options{},
		asks("", answer(200, ref("a"), "ETag", `W/"1"`, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "10", "X-RateLimit-Reset", "99999999999")),
		asks(`W/"1"`, same), asks(`W/"1"`, answer(200, ref("b"), "ETag", `W/"2"`)), asks(`W/"2"`, same), asks(`W/"2"`, answer(404, `{"message":"Not Found"}`)),
		asks("", answer(304, "")))
	for i, want := range []string{"a", "a", "b", "b"} {
		got, err := c.Ref(t.Context(), "acme/shop", "main")
		if err != nil || got != strings.Repeat(want, 40) {
			t.Fatalf("%d: %q %v", i, got, err)
		}
	}
	if _, err := c.Ref(t.Context(), "acme/shop", "main"); kindOf(t, err).Kind != Absent {
		t.Error(err)
	}
	if _, err := c.Ref(t.Context(), "acme/shop", "other"); kindOf(t, err).Kind != Unknown { // a 304 that nobody asked for
		t.Error(err)
	}
	if len(s.seen) != 6 {
		t.Errorf("%d requests", len(s.seen))
	}
}

// The limits that count are the new answer's, and what is large is not kept.
func TestConditionalKeepsLittle(t *testing.T) {
	pulls := "[" + strings.Repeat(" ", keptSize) + "]"
	c, s := client(t, Options{}, answer(200, pulls, "ETag", "x"), answer(200, pulls, "ETag", "x"))
	for range 2 {
		if _, err := c.Pulls(t.Context(), "acme/shop", PullQuery{State: "open"}); err != nil {
			t.Fatal(err)
		}
	}
	if s.seen[1].Header.Get("If-None-Match") != "" {
		t.Error("a large answer was kept")
	}
}

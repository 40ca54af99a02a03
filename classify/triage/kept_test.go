package triage

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

func TestKeptTracesAreAskedForInWords(t *testing.T) {
	src := testSource()
	src.Kept = func(_ context.Context, f KeptFilter, cursor string, limit int) (KeptPage, error) {
		want := KeptFilter{Service: "shop", Verdict: classify.Failing, Label: "loop", Text: "CHAT", Since: time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)}
		switch {
		case cursor == "bad":
			return KeptPage{}, ErrCursor
		case cursor == "all" && (f != want || limit != 7) || cursor == "" && (f != KeptFilter{} || limit != usualPage):
			t.Errorf("asked for %+v, %d, at %q", f, limit, cursor)
		}
		return KeptPage{Traces: []KeptTrace{{Kind: "trace", ID: "ab", Labels: []classify.Label{}}}, Next: "more"}, nil
	}
	src.Spans = func(_ context.Context, id string, hour time.Time) (Recorded, error) {
		if id != "ab" || !hour.IsZero() && hour.Hour() != 22 {
			return Recorded{}, ErrNotFound
		}
		return Recorded{[]byte(`{"resourceSpans":[]}`), true}, nil
	}
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/v1/traces", 200, `{"traces":[{"kind":"trace","id":"ab","service":null,"session":null,"verdict":null,"labels":[],"start":null,`},
		{"/v1/traces?service=shop&verdict=failing&label=loop&q=CHAT&since=2026-11-30T22:00:00Z&limit=7&cursor=all", 200, `"next":"more"`},
		{"/v1/traces?cursor=bad", 400, "begin again"},
		{"/v1/traces?verdict=good", 400, "verdict is one of"},
		{"/v1/traces?since=yesterday", 400, "since is a time"},
		{"/v1/traces?limit=0", 400, "limit is a number"},
		{"/v1/traces?limit=1001", 400, "limit is a number"},
		{"/v1/traces?page=2", 400, "no parameter"},
		{"/v1/traces/ab/spans", 200, `{"resourceSpans":[]}`},
		{"/v1/traces/ab/spans?hour=2026-11-30T22:00:00Z", 200, `{"resourceSpans":[]}`},
		{"/v1/traces/ab/spans?hour=22", 400, "hour is a time"},
		{"/v1/traces/cd/spans", 404, "no such thing"},
	} {
		if code, body := get(t, src, Options{}, c.path); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %q", c.path, code, body, c.code, c.want)
		}
	}
	viewer := Options{Tokens: []Token{{Name: "bo", Token: "two"}}}
	for _, path := range []string{"/v1/traces", "/v1/traces/ab/spans"} {
		if code, _ := get(t, src, viewer, path); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, code)
		}
		if code, _ := get(t, src, viewer, path, "Authorization", "Bearer two"); code != http.StatusOK {
			t.Errorf("%s as a viewer: %d", path, code)
		}
		if code, body := get(t, testSource(), Options{}, path); code != http.StatusNotFound || !strings.Contains(body, "role work") {
			t.Errorf("%s where no traces are kept: %d %s", path, code, body)
		}
	}
}

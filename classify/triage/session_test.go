package triage

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// TestSessionNamesItsTraces holds that a failure which spans the traces of a session leads to each of them, on every page and as JSON, and says why there
// is no recording.
func TestSessionNamesItsTraces(t *testing.T) {
	src := testSource()
	a, b := strings.Repeat("aa", 16), strings.Repeat("bb", 16)
	g := ratchet.Group{Fingerprint: classify.NewFingerprint("loop", "shop", "support"), Count: 1, Severity: classify.Blocking, Title: "get_order called 6 times",
		Specimens: []ratchet.Specimen{{TraceID: b, Session: strings.Repeat("5", 64), Traces: []string{a, b}, Unrecorded: "kept by another process"}}}
	src.Groups = func(context.Context) ([]ratchet.Group, error) { return []ratchet.Group{g}, nil }
	for path, want := range map[string][]string{
		"/v1/groups":           {`"traces":["` + a + `","` + b + `"]`},
		"/v1/groups/" + g.ID(): {`"traces":["` + a + `","` + b + `"]`},
		"/groups/" + g.ID():    {"/traces/" + a, "/traces/" + b, "kept by another process"},
	} {
		code, body := get(t, src, Options{}, path)
		for _, w := range want {
			if code != http.StatusOK || strings.Count(body, w) != 1 {
				t.Errorf("%s: %d, %q is there %d times, want once:\n%s", path, code, w, strings.Count(body, w), body)
			}
		}
	}
}

package verify_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/ratchet/verify"
)

// Cases written by hand may be added and made to block; taking one away, changing it or letting it no longer block is a loosening.
func TestGoldens(t *testing.T) {
	set := func(cases string) *verify.Set {
		return verify.ReadSet(fstest.MapFS{"set/_golden/a.yaml": {Data: []byte("apiVersion: pawl/v1\nkind: Golden\ncases:\n" + cases)}}, "set")
	}
	none := verify.Config{Values: []byte("{}")}
	const one = "  - {name: one, user: hello, no_tool: true}\n"
	for name, x := range map[string]struct{ head, says string }{
		"same":    {one, ""},
		"title":   {"  - {name: one, title: greeting, user: hello, no_tool: true}\n", ""},
		"more":    {one + "  - {name: two, user: hello, expect_tool: b}\n", ""},
		"gone":    {"  - {name: two, user: hello, expect_tool: b}\n", "no longer there"},
		"changed": {"  - {name: one, user: hello, expect_tool: b}\n", "another test"},
		"pending": {"  - {name: one, user: hello, no_tool: true, state: pending}\n", "no longer blocks"},
	} {
		r, err := verify.Check(verify.Version{Sets: map[string]*verify.Set{"set": set(one)}, Config: none}, verify.Version{Sets: map[string]*verify.Set{"set": set(x.head)}, Config: none}, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var says []string
		for _, f := range r.Findings {
			says = append(says, f.Why)
		}
		if got := strings.Join(says, "; "); !strings.Contains(got, x.says) || (x.says == "") != (len(says) == 0) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

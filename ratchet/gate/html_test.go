package gate

import (
	"fmt"
	"testing"
)

// What was called with other arguments stands beside what it should have been; nothing is lost and the order of each side is kept.
func TestDiff(t *testing.T) {
	calls := func(texts ...string) (out []Call) {
		for _, s := range texts {
			out = append(out, Call{Tool: s[:1], Arguments: []byte(s[1:])})
		}
		return out
	}
	for _, x := range []struct {
		a, b []Call
		want string
	}{
		{calls("a1", "b1"), calls("a1", "b1"), "[{  a(1) a(1)} {  b(1) b(1)}]"},
		{calls("a1", "b1", "c1"), calls("a1", "b2", "c1"), "[{  a(1) a(1)} {~ b(1) b(2)} {  c(1) c(1)}]"},
		{calls("a1"), calls("b1"), "[{- a(1) } {+  b(1)}]"},
		{nil, calls("b1"), "[{+  b(1)}]"},
		{calls("a1", "a2"), calls("c1", "a3"), "[{+  c(1)} {~ a(1) a(3)} {- a(2) }]"},
		{nil, nil, "[]"},
	} {
		if got := fmt.Sprint(diff(x.a, x.b)); got != x.want {
			t.Errorf("%v %v: %s, want %s", x.a, x.b, got, x.want)
		}
	}
}

package admit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// arbitrary is a trace of n spans in a random tree, each with a long attribute, a list of messages and an event.
func arbitrary(r *rand.Rand, n int) trajectory.Trace {
	t := trajectory.Trace{ID: strings.Repeat("a", 32)}
	for i := range n {
		s := trajectory.Span{TraceID: t.ID, ID: fmt.Sprintf("%016x", i+1), Name: "span", Start: time.Unix(int64(i), 0), Attrs: trajectory.Attrs{}}
		if i > 0 {
			s.ParentID = fmt.Sprintf("%016x", r.IntN(i)+1)
		}
		s.Attrs["short"] = pcommon.NewValueStr("x")
		s.Attrs["long"] = pcommon.NewValueStr(fmt.Sprintf("long %d %s", i, strings.Repeat("x", 100)))
		var list []string
		for k := range 2 + r.IntN(5) {
			list = append(list, fmt.Sprintf(`{"n":"%d.%d","content":"%s"}`, i, k, strings.Repeat("y", 30)))
		}
		s.Attrs["messages"] = pcommon.NewValueStr("[" + strings.Join(list, ",") + "]")
		s.Events = []trajectory.Event{{Name: "event", Attrs: trajectory.Attrs{"text": pcommon.NewValueStr(strings.Repeat("z", 100))}}}
		t.Spans = append(t.Spans, s)
	}
	return t
}

// texts is everything that a recording says, for conditions to look into.
func texts(ts []trajectory.Trace) string {
	var b strings.Builder
	for _, t := range ts {
		for _, s := range t.Spans {
			fmt.Fprintf(&b, "span %s\n", s.ID)
			for _, k := range []string{"long", "messages", "short"} {
				if v, ok := s.Attrs[k]; ok {
					fmt.Fprintln(&b, v.Str())
				}
			}
		}
	}
	return b.String()
}

// TestShrink: what is left holds the condition, keeps every parent of a span that is left, is the same each time, and holds nothing else that can be spared;
// and what was given is as it was.
func TestShrink(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		in := []trajectory.Trace{arbitrary(r, 2+r.IntN(20))}
		before := texts(in)
		i := r.IntN(len(in[0].Spans))
		need := []string{fmt.Sprintf("long %d ", i), fmt.Sprintf(`"%d.1"`, r.IntN(len(in[0].Spans)))}
		asked := 0
		holds := func(ts []trajectory.Trace) bool {
			asked++
			return !slices.ContainsFunc(need, func(n string) bool { return !strings.Contains(texts(ts), n) })
		}
		out := Shrink(in, holds, Limits{})
		if !holds(out) || texts(in) != before {
			t.Fatalf("what is left does not hold, or the input changed")
		}
		there := map[string]bool{"": true}
		for _, s := range out[0].Spans {
			there[s.ID] = true
		}
		for _, s := range out[0].Spans {
			if !there[s.ParentID] {
				t.Errorf("the parent of %s is gone", s.ID)
			}
		}
		if got := strings.Count(texts(out), "xxxxx"); got != 20 { // one long text of a hundred
			t.Errorf("%d of the long texts are left, want one:\n%s", got/20, texts(out))
		}
		if got := strings.Count(texts(out), `"content"`); got != 1 {
			t.Errorf("%d messages are left, want one:\n%s", got, texts(out))
		}
		if again := Shrink(in, holds, Limits{}); !reflect.DeepEqual(texts(again), texts(out)) {
			t.Error("shrunk again it is another recording")
		}
	}
}

// TestShrinkIsBounded: it asks no more often than it may, and what it returns by then holds.
func TestShrinkIsBounded(t *testing.T) {
	in := []trajectory.Trace{arbitrary(rand.New(rand.NewPCG(3, 4)), 200)}
	for _, l := range []Limits{{Probes: 5}, {Probes: 1}, {Bytes: 1}} {
		asked := 0
		out := Shrink(in, func(ts []trajectory.Trace) bool { asked++; return strings.Contains(texts(ts), `"150.1"`) }, l)
		if !strings.Contains(texts(out), `"150.1"`) {
			t.Errorf("%+v: what is left does not hold", l)
		}
		if l.Probes > 0 && asked > 3*l.Probes || l.Bytes > 0 && asked > 1 {
			t.Errorf("%+v: asked %d times", l, asked)
		}
	}
}

// TestShrinkLeavesWhatNeverHolds whole: a condition that is not even true of the input takes nothing away.
func TestShrinkLeavesWhatNeverHolds(t *testing.T) {
	in := []trajectory.Trace{arbitrary(rand.New(rand.NewPCG(5, 6)), 9)}
	if out := Shrink(in, func([]trajectory.Trace) bool { return false }, Limits{}); texts(out) != texts(in) {
		t.Error("something was left out")
	}
	if out := Shrink(nil, func([]trajectory.Trace) bool { return true }, Limits{}); len(out) != 0 {
		t.Error("nothing became something")
	}
}

func TestElements(t *testing.T) {
	for text, want := range map[string]struct {
		n    int
		list string
	}{
		`[{"a":1},{"b":[{},2]}]`:                        {2, `[{"a":1},{"b":[{},2]}]`},
		`{"model":"m","messages": [{"a":1},{"b":2}] }`:  {2, `[{"a":1},{"b":2}]`},
		`{"x":[1,2],"y":[{"a":1},{"b":2},{}],"z":[{}]}`: {3, `[{"a":1},{"b":2},{}]`},
		`[{"a":1}]`: {}, `[]`: {}, `[1,2]`: {}, `[{"a":1},{"b":2}] and more`: {}, `[{"a":1},{"b":2}`: {}, `{"a":1}`: {}, ``: {}, `[{"a":1},2]`: {},
		`{"a":[{},{}]`: {}, `{"a":{"b":[{},{}]}}`: {}, `text`: {},
	} {
		got, from, to := elements(text)
		if len(got) != want.n || text[from:to] != want.list {
			t.Errorf("%s has %d elements in %q, want %d in %q", text, len(got), text[from:to], want.n, want.list)
		}
	}
}

// A value without some of its elements is JSON still, and all else of it stays.
func TestListWithout(t *testing.T) {
	text := `{"model":"m","messages":[{"a":1},{"b":2},{"c":3}],"n":1}`
	p := piece{kind: messagePiece, key: "k"}
	gone := map[piece]bool{}
	for _, at := range []int{anyElement, 0, 2} {
		p.at = at
		gone[p] = true
	}
	if got := listWithout(pcommon.NewValueStr(text), piece{key: "k"}, gone).Str(); got != `{"model":"m","messages":[{"b":2}],"n":1}` {
		t.Error(got)
	}
}

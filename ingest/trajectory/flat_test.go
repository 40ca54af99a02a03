package trajectory

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// flatInput writes messages as indexed keys.
func flatInput(contents []string) Attrs {
	a := Attrs{}
	for i, c := range contents {
		a[fmt.Sprintf("in.%d.role", i)] = pcommon.NewValueStr([]string{"user", "assistant"}[i%2])
		if c != "" {
			a[fmt.Sprintf("in.%d.content", i)] = pcommon.NewValueStr(c)
		}
	}
	return a
}

// readFlatCalls reads inputs one after the other, as an agent's calls, and counts the items that were looked at.
func readFlatCalls(inputs [][]string, other bool) (calls []*call, looked int) {
	item := func(a Attrs) (Message, bool) {
		looked++
		m, _ := indexedMessage(a)
		return m, true
	}
	for _, in := range inputs {
		c := &call{node: &node{facts: Facts{Input: History{Flat: flatInput(in).flat("in."), Item: item}}}}
		if other {
			c.node.facts.Input.Else = func(whole bool) (History, string, bool) {
				return History{Messages: []Message{{Role: "user", Parts: []Part{{Kind: PartText, Text: "elsewhere"}}}}}, "Be brief.", !whole
			}
		}
		c.readInput(calls[max(0, len(calls)-lookBack):], maphash.MakeSeed())
		calls = append(calls, c)
	}
	return calls, looked
}

// Of a growing history in indexed keys each message is read once.
func TestFlatHistoriesAreReadWhereNew(t *testing.T) {
	var inputs [][]string
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprintf("m%d", i))
		inputs = append(inputs, slices.Clone(all))
	}
	calls, looked := readFlatCalls(inputs, false)
	if looked != 30 {
		t.Errorf("%d items were read, want 30", looked)
	}
	for i, c := range calls {
		if len(c.fresh) != 1 || textOf(c.fresh) != fmt.Sprintf("m%d", i) || c.size != i+1 {
			t.Errorf("call %d: %v, size %d", i, c.fresh, c.size)
		}
	}
}

// However inputs grow, shrink and change, the whole input of each is what reading all of it gives.
func TestFlatHistoriesAreWhole(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 7))
	for range 200 {
		var inputs [][]string
		var now []string
		for range 1 + rnd.IntN(8) {
			switch n := rnd.IntN(6); {
			case n == 0 && len(now) > 0: // compacted
				now = slices.Clone(now[rnd.IntN(len(now)):])
			case n == 1 && len(now) > 0: // the last one has grown
				now = slices.Clone(now)
				now[len(now)-1] += "+"
			default:
				for range rnd.IntN(3) {
					now = append(slices.Clone(now), fmt.Sprint(rnd.IntN(9)))
				}
			}
			inputs = append(inputs, now)
		}
		calls, _ := readFlatCalls(inputs, false)
		for i, c := range calls {
			f := Facts{Input: History{Flat: flatInput(inputs[i]).flat("in."), Item: indexedMessage}}
			f.readInput()
			var got []Message
			for m := range c.input {
				got = append(got, *m)
			}
			if !reflect.DeepEqual(got, f.Input.Messages) && len(got)+len(f.Input.Messages) > 0 {
				t.Fatalf("inputs %q: call %d has\n%v\nwant\n%v", inputs, i, got, f.Input.Messages)
			}
		}
	}
}

// A hole makes the other telling count, for the call and for those that begin like it.
func TestFlatHistoriesWithHoles(t *testing.T) {
	calls, looked := readFlatCalls([][]string{{"a"}, {"a", "", "b"}, {"a", "", "b", "c"}}, true)
	for i, want := range []string{"a", "elsewhere", "elsewhere"} {
		in := calls[i].node.facts.Input
		if i > 0 && (textOf(in.Messages) != want || calls[i].node.facts.System != "Be brief.") || i == 0 && textOf(calls[i].fresh) != want {
			t.Errorf("call %d: %+v", i, in.Messages)
		}
	}
	if looked != 3 {
		t.Errorf("%d items were read, want 3: one, then the two that are new; the third call is known to have holes", looked)
	}
}

package match

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// made and wanted read calls from text: "a:1 b:2" are calls of a with {"x":1} and of b with {"x":2}; a bar ends what was asked for together, and
// without any every call was asked for alone.
func madeCalls(text string) (out []Call) {
	groups := strings.Split(text, "|")
	n := 0
	for i, g := range groups {
		for _, w := range strings.Fields(g) {
			tool, x, _ := strings.Cut(w, ":")
			together := i
			if len(groups) == 1 {
				together = -1
			}
			args := `{"x":` + x + `}`
			if x == "" {
				args = `{}`
			}
			v := trajectory.ParseValue(args)
			if x == "cut" {
				v = trajectory.Value{Raw: `{"x":`, Parsed: trajectory.ParsedBroken, Truncated: true}
			}
			out = append(out, Call{Tool: tool, Arguments: v, Step: n, Together: together})
			n++
		}
	}
	return out
}

func wantedCalls(text string) []regcase.ExpectedCall {
	out := []regcase.ExpectedCall{}
	for _, w := range strings.Fields(text) {
		tool, x, _ := strings.Cut(w, ":")
		c := regcase.ExpectedCall{Tool: tool, Mode: "exact", Arguments: map[string]regcase.Field{}}
		switch x {
		case "":
		case "*":
			c.Mode = "ignore"
		default:
			c.Arguments["/x"] = regcase.Field{Match: "exact", Value: regcase.NewJSON([]byte(x))}
		}
		out = append(out, c)
	}
	return out
}

// ends of an answer: holds, undecided, fails.
func end(a Answer) truth {
	switch {
	case len(a.Mismatches) > 0:
		return no
	case len(a.Undecided) > 0:
		return unknown
	}
	return yes
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		want, got string
		distance  int
		ends      string // of exact, ordered, unordered, superset, subset: y, n or ?
	}{
		{"", "", 0, "yyyyy"},
		{"a:1 b:2", "a:1 b:2", 0, "yyyyy"},
		{"a:1 b:2", "b:2 a:1", 0, "nnyyy"},
		{"a:1 b:2", "b:2 a:1 |", 0, "yyyyy"}, // asked for together
		{"a:1 b:2 c:3", "b:2 a:1 | c:3", 0, "yyyyy"},
		{"a:1 b:2 c:3", "b:2 c:3 | a:1", 0, "nnyyy"},
		{"a:1 b:2", "a:1 c:3 b:2", 0, "nynyn"},
		{"a:1 b:2", "a:1", 0, "nnnny"},
		{"a:1", "a:2", 0, "nnnnn"},
		{"a:*", "a:2", 0, "yyyyy"},
		{"a:1 a:*", "a:1 a:2", 0, "yyyyy"},
		{"a:* a:1", "a:1 a:2", 0, "nnyyy"}, // a greedy pairing gives a:1 to the first and fails
		{"a:* a:1", "a:2 a:1 a:3", 0, "nynyn"},
		{"a:1 b:2", "a:1", 1, "yyyyy"},
		{"a:1 b:2", "a:1 c:3 b:2", 1, "yyyyy"},
		{"a:1 b:2 c:3", "c:3", 1, "nnnny"},
		{"a:1", "a:cut", 0, "?????"},
		{"a:*", "a:cut", 0, "yyyyy"},
		{"a:1 b:2", "a:cut b:3", 0, "nnnnn"},
		{"a:1", "functions.a:1", 0, "yyyyy"},
		{"a:1", "", 0, "nnnny"},
		{"", "a:1", 0, "nynyn"},
	} {
		for i, mode := range []Mode{Exact, Ordered, Unordered, Superset, Subset} {
			a := Matcher{}.Sequence(&regcase.Trajectory{Mode: string(mode), Distance: c.distance, Calls: wantedCalls(c.want)}, madeCalls(c.got))
			if got := map[truth]byte{yes: 'y', no: 'n', unknown: '?'}[end(a)]; got != c.ends[i] {
				t.Errorf("%q against %q (%s, distance %d): %c, want %c: %+v", c.got, c.want, mode, c.distance, got, c.ends[i], a)
			}
		}
	}
	if a := (Matcher{}).Sequence(&regcase.Trajectory{Mode: "fuzzy"}, nil); end(a) != unknown {
		t.Errorf("a mode that is none gives %+v", a)
	}
}

func TestMismatchesName(t *testing.T) {
	for _, c := range []struct {
		mode      Mode
		want, got string
		mismatch  string
	}{
		{Exact, "a:1 b:2", "a:1 b:3", `[{1 arguments/x 2 3}]`},
		{Exact, "a:1 b:2 c:3", "a:1 c:3", `[{-1 call b /x=2 none}]`},
		{Exact, "a:1 c:3", "a:1 b:2 c:3", `[{1 call none b {"x":2}}]`},
		{Exact, "a:1", "b:1", `[{0 tool a b}]`},
		{Exact, "a", "a:1", `[{0 arguments/x absent 1}]`},
		{Exact, "a:1", "a", `[{0 arguments/x 1 absent}]`},
		{Ordered, "a:1 b:2", "a:1 b:3 c:4", `[{1 arguments/x 2 3}]`},
		{Ordered, "a:1 b:2", "b:2 a:1", `[{-1 call b /x=2 none}]`},
		{Unordered, "a:1 b:2", "b:3 a:1", `[{0 arguments/x 2 3}]`},
		{Superset, "a:1 b:2", "c:1 a:1", `[{-1 call b /x=2 none}]`},
		{Subset, "a:1 b:2", "c:1 a:1", `[{0 call none c {"x":1}}]`},
	} {
		a := Matcher{}.Sequence(&regcase.Trajectory{Mode: string(c.mode), Calls: wantedCalls(c.want)}, madeCalls(c.got))
		if got := fmt.Sprint(a.Mismatches); got != c.mismatch {
			t.Errorf("%s %q against %q: %s, want %s", c.mode, c.got, c.want, got, c.mismatch)
		}
	}
}

func TestFields(t *testing.T) {
	type fields = map[string]regcase.Field
	f := func(match, value string) regcase.Field {
		return regcase.Field{Match: match, Value: regcase.NewJSON([]byte(value))}
	}
	for _, c := range []struct {
		name string
		mode string
		want fields
		got  string
		end  truth
	}{
		{"nested", "exact", fields{"/to/zip": f("exact", `"10115"`)}, `{"to":{"zip":"10115"}}`, yes},
		{"nested, another", "exact", fields{"/to/zip": f("exact", `"10115"`)}, `{"to":{"zip":"10117"}}`, no},
		{"nested, one more", "exact", fields{"/to/zip": f("exact", `"10115"`)}, `{"to":{"zip":"10115","city":"Berlin"}}`, no},
		{"nested, one more allowed", "superset", fields{"/to/zip": f("exact", `"10115"`)}, `{"to":{"zip":"10115","city":"Berlin"}}`, yes},
		{"in a list", "exact", fields{"/items/1/sku": f("exact", `"B"`), "/items/0": f("ignore", ``)}, `{"items":[{"sku":"A"},{"sku":"B"}]}`, yes},
		{"an object in another order", "exact", fields{"/o": f("exact", `{"a":1,"b":[2]}`)}, `{"o":{"b":[2],"a":1}}`, yes},
		{"a slash in a name", "exact", fields{"/a~1b": f("exact", `1`)}, `{"a/b":1}`, yes},
		{"a number in another spelling", "exact", fields{"/n": f("exact", `10.0`)}, `{"n":1e1}`, yes},
		{"a long id", "exact", fields{"/n": f("exact", `9007199254740993`)}, `{"n":9007199254740992}`, no},
		{"a number near enough", "exact", fields{"/n": f("number", `100`)}, `{"n":101}`, yes},
		{"a number too far", "exact", fields{"/n": f("number", `100`)}, `{"n":101.1}`, no},
		{"a number as text", "exact", fields{"/n": f("number", `100`)}, `{"n":"99.5"}`, yes},
		{"no number", "exact", fields{"/n": f("number", `100`)}, `{"n":"many"}`, no},
		{"a pattern", "exact", fields{"/d": f("pattern", `"^2026-"`)}, `{"d":"2026-01-02"}`, yes},
		{"a pattern that does not fit", "exact", fields{"/d": f("pattern", `"^2026-"`)}, `{"d":"2025-01-02"}`, no},
		{"a pattern that is none", "exact", fields{"/d": f("pattern", `"("`)}, `{"d":"2025-01-02"}`, unknown},
		{"meaning, spelt otherwise", "exact", fields{"/q": f("semantic", `"Blue kettle!"`)}, `{"q":"blue kettle"}`, yes},
		{"meaning, in other words", "exact", fields{"/q": f("semantic", `"blue kettle"`)}, `{"q":"azure teapot"}`, unknown},
		{"meaning, another number", "exact", fields{"/q": f("semantic", `"2 kettles"`)}, `{"q":"3 kettles"}`, no},
		{"ignored and absent", "exact", fields{"/q": f("ignore", ``)}, `{}`, yes},
		{"absent", "superset", fields{"/q": f("exact", `1`)}, `{}`, no},
		{"absent and allowed to be", "subset", fields{"/q": f("exact", `1`)}, `{}`, yes},
		{"one more in a subset", "subset", fields{"/q": f("exact", `1`)}, `{"p":1}`, no},
		{"named and others ignored", "ignore", fields{"/q": f("exact", `1`)}, `{"q":2,"p":1}`, no},
		{"an id of the request", "exact", fields{"/q": f("exact", `1`), "/request_id": f("exact", `"a"`)}, `{"q":1,"request_id":"b"}`, yes},
		{"an id of the request that is not named", "exact", fields{"/q": f("exact", `1`)}, `{"q":1,"request_id":"b"}`, yes},
		{"an empty member more", "exact", fields{"/q": f("exact", `1`)}, `{"q":1,"filters":{},"note":""}`, yes},
		{"an empty member less", "exact", fields{"/q": f("exact", `1`), "/note": f("exact", `""`)}, `{"q":1}`, yes},
		{"an empty one wanted, a full one there", "exact", fields{"/q": f("exact", `1`), "/note": f("exact", `""`)}, `{"q":1,"note":"x"}`, no},
		{"an empty member deep inside", "exact", fields{"/q": f("exact", `1`)}, `{"q":1,"f":{"from":null,"to":{}}}`, yes},
		{"an empty list deep inside", "exact", fields{"/q": f("exact", `{"a":1}`)}, `{"q":{"a":1,"b":[]}}`, yes},
		{"a match that is none", "exact", fields{"/q": f("fuzzy", `1`)}, `{"q":1}`, unknown},
		{"no JSON", "exact", fields{"/q": f("exact", `1`)}, `{"q":1`, no},
		{"the whole", "exact", fields{"": f("exact", `{"q":1}`)}, `{"q":1}`, yes},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &regcase.Trajectory{Mode: "exact", Calls: []regcase.ExpectedCall{{Tool: "t", Mode: c.mode, Arguments: c.want}}}
			a := Matcher{}.Sequence(e, []Call{{Tool: "t", Arguments: trajectory.ParseValue(c.got), Step: 3, Together: -1}})
			if end(a) != c.end {
				t.Errorf("got %+v", a)
			}
			for _, m := range a.Mismatches {
				if m.Step != 3 || m.Field == "" || m.Expected == "" || m.Got == "" {
					t.Errorf("mismatch is %+v", m)
				}
			}
		})
	}
}

// arbitrary draws an expectation and calls that are often near to it.
func arbitrary(r *rand.Rand) (want []regcase.ExpectedCall, got []Call) {
	tools, args := []string{"a", "b", "c"}, []string{"1", "2", "*", ""}
	var words []string
	for range 1 + r.IntN(5) {
		words = append(words, tools[r.IntN(3)]+":"+args[r.IntN(4)])
	}
	want = wantedCalls(strings.ReplaceAll(strings.Join(words, " ")+" ", ": ", " "))
	made := slices.Clone(words)
	for i, w := range made {
		made[i] = strings.Replace(w, "*", []string{"1", "2", "cut"}[r.IntN(3)], 1)
	}
	for range r.IntN(7) {
		switch i := r.IntN(len(made) + 1); r.IntN(5) {
		case 3, 4:
			if i < len(made) {
				tool, _, _ := strings.Cut(made[i], ":")
				made[i] = tool + ":" + []string{"1", "2", "cut", "cut"}[r.IntN(4)]
			}
		case 0:
			made = slices.Insert(made, i, tools[r.IntN(3)]+":"+[]string{"1", "2", "cut"}[r.IntN(3)])
		case 1:
			if i < len(made) {
				made = slices.Delete(made, i, i+1)
			}
		case 2:
			r.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
		}
	}
	got = madeCalls(strings.ReplaceAll(strings.Join(made, " ")+" ", ": ", " "))
	if r.IntN(2) == 0 {
		for i := range got {
			got[i].Together = i / 2
		}
	}
	return want, got
}

// TestModesImply holds the modes to each other: what holds in a stricter one holds in a looser one, and what fails in a looser one fails in a
// stricter one. More edits allowed never fail what fewer let pass.
func TestModesImply(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	implies := [][2]Mode{{Exact, Ordered}, {Exact, Unordered}, {Ordered, Superset}, {Unordered, Superset}, {Unordered, Subset}}
	seen := map[truth]int{}
	for range 1500 {
		want, got := arbitrary(r)
		ends := map[Mode][3]truth{}
		for _, mode := range []Mode{Exact, Ordered, Unordered, Superset, Subset} {
			var of [3]truth
			for d := range of {
				of[d] = end(Matcher{}.Sequence(&regcase.Trajectory{Mode: string(mode), Distance: d, Calls: want}, got))
				seen[of[d]]++
			}
			if of[0] > of[1] || of[1] > of[2] {
				t.Fatalf("%s of %+v against %+v: %v by distance", mode, got, want, of)
			}
			ends[mode] = of
		}
		for _, i := range implies {
			for d := range 3 {
				if ends[i[0]][d] > ends[i[1]][d] {
					t.Fatalf("%s gives %d and %s %d, distance %d: %+v against %+v", i[0], ends[i[0]][d], i[1], ends[i[1]][d], d, got, want)
				}
			}
		}
	}
	for _, x := range []truth{yes, no, unknown} {
		if seen[x] < 1000 {
			t.Errorf("only %d of %v ended in %d", seen[x], seen, x)
		}
	}
}

// TestOrderDoesNotCount shuffles what has no order.
func TestOrderDoesNotCount(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		want, got := arbitrary(r)
		other := slices.Clone(got)
		wantOther := slices.Clone(want)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		r.Shuffle(len(wantOther), func(i, j int) { wantOther[i], wantOther[j] = wantOther[j], wantOther[i] })
		for _, mode := range []Mode{Unordered, Superset, Subset} {
			e, f := &regcase.Trajectory{Mode: string(mode), Calls: want}, &regcase.Trajectory{Mode: string(mode), Calls: wantOther}
			if a, b := end(Matcher{}.Sequence(e, got)), end(Matcher{}.Sequence(f, other)); a != b {
				t.Fatalf("%s: %d, shuffled %d: %+v against %+v", mode, a, b, got, want)
			}
		}
		for i := range got { // all at once
			got[i].Together, other[i].Together = 7, 7
		}
		for _, mode := range []Mode{Exact, Ordered} {
			for d := range 2 {
				e := &regcase.Trajectory{Mode: string(mode), Calls: want, Distance: d}
				if a, b := end(Matcher{}.Sequence(e, got)), end(Matcher{}.Sequence(e, other)); a != b {
					t.Fatalf("%s, asked for together, distance %d: %d, shuffled %d: %+v against %+v", mode, d, a, b, got, want)
				}
			}
		}
	}
}

// TestPairingIsLargest compares with the best of all permutations.
func TestPairingIsLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		n, m := r.IntN(6), r.IntN(6)
		fits := make([]bool, n*m)
		for i := range fits {
			fits[i] = r.IntN(3) == 0
		}
		var most func(w int, used uint) int
		most = func(w int, used uint) int {
			if w == n {
				return 0
			}
			best := most(w+1, used)
			for g := range m {
				if used&(1<<g) == 0 && fits[w*m+g] {
					best = max(best, 1+most(w+1, used|1<<g))
				}
			}
			return best
		}
		p := pair(n, m, func(w, g int) bool { return fits[w*m+g] })
		if p.size != most(0, 0) {
			t.Fatalf("%d x %d %v: %d pairs, best is %d", n, m, fits, p.size, most(0, 0))
		}
		for w, g := range p.ofWant {
			if g >= 0 && (p.ofGot[g] != w || !fits[w*m+g]) {
				t.Fatalf("%+v is no pairing", p)
			}
		}
	}
}

func TestCallsOf(t *testing.T) {
	tr := &trajectory.Trajectory{
		ToolCalls: []trajectory.ToolCall{{Name: "b", Model: 0}, {Name: "a", Model: 0}, {Name: "old", Recalled: true}, {Name: "unstepped", Model: -1}},
		Steps:     []trajectory.Step{{Kind: trajectory.StepUser, Index: -1}, {Kind: trajectory.StepTool, Index: 1}, {Kind: trajectory.StepTool, Index: 0}, {Kind: trajectory.StepTool, Index: 2}, {Kind: trajectory.StepTool, Index: 99}},
	}
	if got := fmt.Sprint(CallsOf(tr)); got != `[{a { null  false} 1 0} {b { null  false} 2 0} {unstepped { null  false} -1 -1}]` {
		t.Error(got)
	}
}

// TestManyCalls ends in time.
func TestManyCalls(t *testing.T) {
	var want []regcase.ExpectedCall
	var got []Call
	for i := range 250 {
		want = append(want, wantedCalls(fmt.Sprint("a:", i%40))...)
		got = append(got, madeCalls(fmt.Sprint("a:", (i*7)%40))...)
	}
	for _, mode := range []Mode{Exact, Ordered, Unordered, Superset, Subset} {
		Matcher{}.Sequence(&regcase.Trajectory{Mode: string(mode), Calls: want, Distance: 3}, got)
	}
	if a := (Matcher{}).Sequence(&regcase.Trajectory{Mode: "exact", Calls: make([]regcase.ExpectedCall, 2000)}, make([]Call, 2000)); end(a) != unknown {
		t.Errorf("too many give %+v", a)
	}
}

func FuzzSequence(f *testing.F) {
	f.Add("exact", "/x", "exact", `{"a":1}`, `{"x":{"a":1}}`, "exact", 0)
	f.Add("ordered", "/x/0", "number", `1`, `{"x":[1.001]}`, "subset", 1)
	f.Add("subset", "", "pattern", `"a+"`, `"aaa"`, "ignore", 2)
	f.Add("superset", "/~0/~1", "semantic", `"no"`, `{"~":{"/":"yes"}}`, "superset", 0)
	f.Fuzz(func(t *testing.T, mode, pointer, match, value, args, argMode string, distance int) {
		e := &regcase.Trajectory{Mode: mode, Distance: distance, Calls: []regcase.ExpectedCall{
			{Tool: "a", Mode: argMode, Arguments: map[string]regcase.Field{pointer: {Match: match, Value: regcase.NewJSON([]byte(value))}}}, {Tool: "b"}}}
		got := []Call{{Tool: "a", Arguments: trajectory.ParseValue(args), Together: -1}, {Tool: "b", Arguments: trajectory.ParseValue(value), Together: -1}}
		a, b := Matcher{}.Sequence(e, got), Matcher{}.Sequence(e, got)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%v is not %v", a, b)
		}
		for _, m := range a.Mismatches {
			if len(m.Expected) > maxShown+4 || len(m.Got) > maxShown+4 {
				t.Errorf("%+v is long", m)
			}
		}
	})
}

func FuzzTexts(f *testing.F) {
	for _, p := range pairs {
		f.Add(p.a, p.b)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Matcher{}.compare(a, b, 0), Matcher{}.compare(b, a, 0)
		if x.truth != y.truth {
			t.Errorf("%q and %q: %v %s one way, %v %s the other", a, b, x.truth, x.why, y.truth, y.why)
		}
		if z := (Matcher{}).compare(a, a, 0); z.truth != yes {
			t.Errorf("%q is not itself: %s", a, z.why)
		}
		if z := (Matcher{}).compare(a, " "+a+"\n", 0); z.truth == no {
			t.Errorf("%q contradicts itself with blanks around: %s %+v", a, z.why, z.mismatch)
		}
	})
}

func BenchmarkSequence(b *testing.B) {
	e := &regcase.Trajectory{Mode: "unordered", Calls: wantedCalls("a:1 b:2 c:3 a:2 b:1 c:2")}
	got := madeCalls("c:2 b:1 a:2 c:3 b:2 a:1")
	for b.Loop() {
		Matcher{}.Sequence(e, got)
	}
}

func BenchmarkTexts(b *testing.B) {
	for b.Loop() {
		Matcher{}.compare("Your order ORD-10231 was shipped on May 3 and will arrive within 3 days.", "We sent order ORD-10231 on 3 May. It should be there in three days.", 0)
	}
}

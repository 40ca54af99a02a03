package propose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// What a statement costs: how much has to be believed with it. What says less comes first.
const (
	costRun     = 2 // the run ended in an error, or gave no reply
	costCalled  = 2
	costFailed  = 3
	costAny     = 3 // of any tool
	costRepeat  = 4
	costOrder   = 4
	costShape   = 4 // an argument is there, or is not
	costNever   = 5
	costSame    = 6 // an order with an equal argument
	costKind    = 6
	costNumber  = 7
	costWord    = 7 // a value of a small set
	costCount   = 8
	costPhrase  = 10
	costNothing = 3
	costOffered = 1
)

// vocabulary is what statements are made of.
type vocabulary struct {
	pos, neg []*view
	redact   func(key, text string) string
	out      []statement
	there    map[string]bool
	written  map[string]bool // words that the team wrote
}

// statements are all that may be said of the labelled runs.
func statements(pos, neg []*view, redact func(key, text string) string) []statement {
	w := &vocabulary{pos: pos, neg: neg, redact: redact, there: map[string]bool{}, written: map[string]bool{}}
	w.read()
	w.ofRuns()
	w.ofAnyTool()
	called, usual := w.tools(pos, 2), w.tools(neg, 3)
	for _, x := range called {
		w.ofTool(x)
		w.ofArguments(x)
		w.ofResults(x)
		for _, y := range union(union(called, usual), w.tools(calling(neg, x), 3)) {
			if x != y {
				w.ofPair(x, y)
			}
		}
	}
	for _, y := range usual {
		w.add(statement{when: calls(y) + ".size() == 0", says: "never called " + y, family: "never " + y, cost: costNever, holds: func(v *view) bool { return len(v.of[y]) == 0 }})
	}
	w.ofWords()
	return w.out
}

func (w *vocabulary) add(s statement) {
	if !w.there[s.when] {
		w.there[s.when] = true
		w.out = append(w.out, s)
	}
}

// plain is a name that may stand in an expression and a sentence.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// tools are those that one in so many runs calls, by name.
func (w *vocabulary) tools(runs []*view, oneIn int) (out []string) {
	n := map[string]int{}
	for _, v := range runs {
		for _, tool := range v.tools {
			n[tool]++
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(n)) {
		if plain.MatchString(tool) && oneIn*n[tool] >= len(runs) {
			out = append(out, tool)
		}
	}
	return out
}

// calling are the runs that call a tool. Beside a tool that few healthy runs need, what those few call counts, however rare it is among all.
func calling(runs []*view, tool string) (out []*view) {
	for _, v := range runs {
		if len(v.of[tool]) > 0 {
			out = append(out, v)
		}
	}
	return out
}

func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

func calls(tool string) string {
	if tool == "" {
		return "t.tool_calls"
	}
	return `t.calls("` + tool + `")`
}

// exists is a statement of one call of a tool, "" for any.
func (w *vocabulary) exists(tool, test, says, family string, cost int, holds func(*call) bool) {
	w.add(statement{when: calls(tool) + ".exists(c, " + test + ")", evidence: calls(tool) + ".filter(c, " + test + ")", says: says, family: family, cost: cost,
		holds: func(v *view) bool { return v.any(tool, holds) }})
}

func (w *vocabulary) ofRuns() {
	w.add(statement{when: "has(t.error)", says: "ended in an error", family: "run error", cost: costRun, holds: func(v *view) bool { return v.t.RootError != nil }})
	w.add(statement{when: "!has(t.reply)", says: "gave no reply", family: "reply", cost: costRun, holds: func(v *view) bool { return v.t.Reply == nil }})
	w.add(statement{when: "t.tool_calls.size() == 0", says: "called no tool", family: "no calls", cost: costNothing, holds: func(v *view) bool { return len(v.calls) == 0 }})
	for _, r := range []trajectory.FinishReason{trajectory.FinishLength, trajectory.FinishContentFilter, trajectory.FinishError} {
		test := `m.finish_reason == "` + string(r) + `"`
		w.models(test, "has a model call that finished with "+string(r), "finish", costFailed, func(m *trajectory.ModelCall) bool { return m.FinishReason == r })
	}
	w.models("has(m.error)", "has a model call that failed", "model error", costFailed, func(m *trajectory.ModelCall) bool { return m.Error != nil })
	for _, code := range w.codes(func(v *view, see func(*trajectory.Error)) {
		for i := range v.t.ModelCalls {
			see(v.t.ModelCalls[i].Error)
		}
	}) {
		w.models(fmt.Sprintf("has(m.error) && m.error.code == %d", code), fmt.Sprintf("has a model call that failed with %d", code), "model error", costShape,
			func(m *trajectory.ModelCall) bool { return m.Error != nil && m.Error.Code == code })
	}
	for _, to := range w.handedTo() {
		w.add(statement{when: `t.handoffs.exists(h, h.to == "` + to + `")`, evidence: `t.handoffs.filter(h, h.to == "` + to + `")`, says: "was handed to " + to, family: "handoff", cost: costShape,
			holds: func(v *view) bool {
				return slices.ContainsFunc(v.t.Handoffs, func(h trajectory.Handoff) bool { return h.To == to })
			}})
	}
	w.over("t.stats.tool_calls", "made at least %s tool calls", "tool calls", true, func(v *view) (float64, bool) { return float64(len(v.calls)), true })
	w.over("t.stats.model_calls", "made at least %s model calls", "model calls", true, func(v *view) (float64, bool) { return float64(len(v.t.ModelCalls)), true })
	w.over("t.stats.input_tokens", "took at least %s input tokens", "tokens", true, tokens)
}

func tokens(v *view) (sum float64, told bool) {
	for i := range v.t.ModelCalls {
		n := v.t.ModelCalls[i].Usage.Input
		if n == nil {
			return 0, false
		}
		sum += float64(*n)
	}
	return sum, len(v.t.ModelCalls) > 0 && len(v.t.AgentTotals) == 0
}

func (w *vocabulary) models(test, says, family string, cost int, holds func(*trajectory.ModelCall) bool) {
	w.add(statement{when: "t.model_calls.exists(m, " + test + ")", evidence: "t.model_calls.filter(m, " + test + ")", says: says, family: family, cost: cost, holds: func(v *view) bool {
		for i := range v.t.ModelCalls {
			if holds(&v.t.ModelCalls[i]) {
				return true
			}
		}
		return false
	}})
}

// codes are the codes of errors of the labelled runs.
func (w *vocabulary) codes(errors func(*view, func(*trajectory.Error))) []int {
	codes := map[int]bool{}
	for _, v := range w.pos {
		errors(v, func(e *trajectory.Error) {
			if e != nil && e.Code >= 100 && e.Code < 600 {
				codes[e.Code] = true
			}
		})
	}
	return slices.Sorted(maps.Keys(codes))
}

func (w *vocabulary) handedTo() []string {
	names := map[string]bool{}
	for _, v := range w.pos {
		for _, h := range v.t.Handoffs {
			if plain.MatchString(h.To) {
				names[h.To] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// ofAnyTool says what does not depend on which tool it was.
func (w *vocabulary) ofAnyTool() {
	w.exists("", "c.failed", "has a tool call that failed", "any failed", costAny, (*call).failed)
	w.exists("", "!has(c.result)", "has a tool call that was never answered", "any missing", costAny, func(c *call) bool { return c.Outcome == trajectory.OutcomeMissing })
	w.exists("", "!t.tools_offered.exists(o, o.name == c.name)", "called a tool that was not offered", "offered", costOffered, nil)
	w.out[len(w.out)-1].holds = func(v *view) bool {
		return len(v.t.ToolsOffered) > 0 && v.any("", func(c *call) bool {
			return !slices.ContainsFunc(v.t.ToolsOffered, func(o trajectory.ToolDef) bool { return o.Name == c.tool })
		})
	}
	w.repeats("")
	last := "t.tool_calls[t.tool_calls.size() - 1]"
	w.add(statement{when: "t.tool_calls.size() > 0 && " + last + ".failed", evidence: "t.tool_calls.filter(c, c.failed)", says: "made no call after its last one failed", family: "any failed", cost: costRepeat,
		holds: func(v *view) bool { return len(v.calls) > 0 && v.calls[len(v.calls)-1].failed() }})
}

// repeats says that a tool was called several times with the same arguments.
func (w *vocabulary) repeats(tool string) {
	name := tool
	if tool == "" {
		name = "a tool"
	}
	for _, n := range []int{2, 3, 5} {
		test := fmt.Sprintf("%s.count(d, same(c, d)) >= %d", calls(tool), n)
		w.add(statement{when: calls(tool) + ".exists(c, " + test + ")", evidence: calls(tool) + ".filter(c, " + test + ")",
			says: fmt.Sprintf("called %s at least %d times with the same arguments", name, n), family: "repeat", cost: costRepeat, holds: func(v *view) bool { return v.repeats(tool) >= n }})
	}
}

func (w *vocabulary) ofTool(x string) {
	w.add(statement{when: calls(x) + ".size() > 0", evidence: calls(x), says: "called " + x, family: "called " + x, cost: costCalled, holds: func(v *view) bool { return len(v.of[x]) > 0 }})
	w.exists(x, "c.failed", "has a call of "+x+" that failed", "failed "+x, costFailed, (*call).failed)
	for _, o := range []trajectory.Outcome{trajectory.OutcomeDenied, trajectory.OutcomeTimeout} {
		w.exists(x, `c.outcome == "`+string(o)+`"`, "has a call of "+x+" whose outcome is "+string(o), "failed "+x, costShape, func(c *call) bool { return c.Outcome == o })
	}
	w.repeats(x)
	w.over(calls(x)+".size()", "called "+x+" at least %s times", "count "+x, true, func(v *view) (float64, bool) { return float64(len(v.of[x])), true })
	for _, code := range w.codes(func(v *view, see func(*trajectory.Error)) {
		for _, i := range v.of[x] {
			see(v.calls[i].Error)
		}
	}) {
		w.exists(x, fmt.Sprintf("has(c.error) && c.error.code == %d", code), fmt.Sprintf("has a call of %s that failed with %d", x, code), "failed "+x, costShape,
			func(c *call) bool { return c.Error != nil && c.Error.Code == code })
	}
}

// ofPair says how the calls of two tools stand to each other.
func (w *vocabulary) ofPair(x, y string) {
	order := func(test, says string, cost int, holds func(y, x *call) bool, want bool) {
		inner := calls(y) + ".exists(y, " + test + ")"
		if !want {
			inner = "!" + inner
		}
		w.add(statement{when: calls(x) + ".exists(x, " + inner + ")", evidence: calls(x) + ".filter(x, " + inner + ")", says: says, family: "order " + x + " " + y, cost: cost, holds: func(v *view) bool {
			return v.any(x, func(c *call) bool { return v.any(y, func(d *call) bool { return holds(d, c) }) == want })
		}})
	}
	before := func(d, c *call) bool { return d.before(c) }
	order("before(y, x)", "called "+x+" without "+y+" before it", costOrder, before, false)
	order("before(y, x)", "called "+x+" after "+y, costOrder+1, before, true)
	order("before(y, x) && !y.failed", "called "+x+" without a call of "+y+" before it that went well", costSame, func(d, c *call) bool { return d.before(c) && !d.failed() }, false)
	order("before(y, x) && y.failed", "called "+x+" after a call of "+y+" that failed", costSame, func(d, c *call) bool { return d.before(c) && d.failed() }, true)
	for _, key := range w.shared(x, y) {
		same := func(d, c *call) bool { return d.before(c) && equal(d.args, c.args, key) }
		order(`before(y, x) && same(y, x, "`+key+`")`, "called "+x+" without a call of "+y+" for the same "+key+" before it", costSame, same, false)
	}
}

func equal(a, b map[string]any, key string) bool {
	x, ok := a[key]
	y, too := b[key]
	return ok && too && fmt.Sprint(x) == fmt.Sprint(y)
}

// shared are the arguments that calls of both tools have.
func (w *vocabulary) shared(x, y string) (out []string) {
	other := w.keys(y, w.pos, w.neg)
	for _, key := range slices.Sorted(maps.Keys(w.keys(x, w.pos, w.neg))) {
		if _, ok := other[key]; ok {
			out = append(out, key)
		}
	}
	return out
}

// over says that a number is at least a round one that lies between healthy runs and labelled ones. says has a %s for it.
func (w *vocabulary) over(expr, says, family string, whole bool, of func(*view) (float64, bool)) {
	for _, n := range w.between(whole, of) {
		text := number(n, whole)
		w.add(statement{when: expr + " >= " + text, says: fmt.Sprintf(says, number(n, true)), family: family, cost: costCount, holds: func(v *view) bool {
			x, told := of(v)
			return told && x >= n
		}})
	}
}

// between are round numbers above what healthy runs have and at most what labelled ones have: of the least of them, and of the middle. A labelled number must lie
// apart from the healthy ones by half of the span that those take: of a few runs the numbers are always somewhere else.
func (w *vocabulary) between(whole bool, of func(*view) (float64, bool)) (out []float64) {
	is, healthy := sample(w.pos, of), sample(w.neg, of)
	if len(is) == 0 || 2*len(is) < len(w.pos) || len(healthy) == 0 {
		return nil
	}
	span := healthy[len(healthy)-1] - healthy[0]
	for _, v := range slices.Compact([]float64{is[0], is[len(is)/2]}) {
		n, _ := slices.BinarySearch(healthy, v)
		if n > 0 && v-healthy[n-1] >= span/2 {
			out = append(out, round(healthy[n-1], v, whole))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sample are the numbers of the runs that tell theirs, sorted.
func sample(runs []*view, of func(*view) (float64, bool)) (out []float64) {
	for _, v := range runs {
		if x, told := of(v); told {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// round is the roundest number above low and at most high, near their middle.
func round(low, high float64, whole bool) float64 {
	middle := (low + high) / 2
	for _, digits := range []int{1, 2, 3} {
		x, err := strconv.ParseFloat(strconv.FormatFloat(middle, 'g', digits, 64), 64)
		if err == nil && x > low && x <= high && (!whole || x == float64(int64(x))) {
			return x
		}
	}
	return high
}

func number(x float64, whole bool) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !whole && x == float64(int64(x)) {
		text += ".0"
	}
	return text
}

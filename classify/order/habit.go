package order

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Kind is what a habit is about.
type Kind string

// The kinds of habit. Precedes: before every call of the writing tool Of, the tool By had been called and had gone well; with Arg, with a value of
// its argument ByArg that is that of Arg. Spares: the writing tool Of was offered and not called. Hands: the agent Of handed over to By alone. Uses: the
// run made a call of the tool By; it is about the run as a whole, and Of is "".
const (
	Precedes Kind = "precedes"
	Spares   Kind = "spares"
	Hands    Kind = "hands"
	Uses     Kind = "uses"
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Precedes, Spares, Hands, Uses} }

// Law is what may hold of a habit's subject.
type Law struct {
	By    string `json:"by,omitzero"`
	Arg   string `json:"arg,omitzero"`
	ByArg string `json:"by_arg,omitzero"`
}

// Compare orders laws by their texts.
func (l Law) Compare(o Law) int {
	return cmp.Or(cmp.Compare(l.By, o.By), cmp.Compare(l.Arg, o.Arg), cmp.Compare(l.ByArg, o.ByArg))
}

// Held is a law that holds in a run. Value is sixteen bits of a hash of the value that both arguments have, so that a baseline can count different
// ones without knowing any; 0 without arguments.
type Held struct {
	Law
	Value uint16 `json:"value,omitzero"`
}

// Habit is what one run shows of one subject: all laws that hold of it, by their texts.
type Habit struct {
	Kind Kind   `json:"kind"`
	Of   string `json:"of"`
	Laws []Held `json:"laws,omitempty"`
}

// Bounds of what one run tells: a run of more is no routine.
const (
	maxCalls    = 200
	maxSubjects = 24 // per kind
	maxLaws     = 48 // per subject
	maxArgs     = 12 // per call
)

// Habits returns what a run shows, by kind and subject. A run whose tool calls, arguments or results are not told shows nothing of them.
func Habits(t *trajectory.Trajectory) []Habit {
	if !t.Complete.HasRoot || t.Complete.Truncated || t.Complete.Dropped > 0 || len(t.ToolCalls) > maxCalls {
		return nil
	}
	out := hands(t)
	if told(t, trajectory.FactToolCalls) {
		out = append(append(out, spares(t)...), uses(t))
	}
	if told(t, trajectory.FactToolCalls) && told(t, trajectory.FactResults) && told(t, trajectory.FactArguments) {
		out = append(out, precedes(t)...)
	}
	slices.SortFunc(out, func(a, b Habit) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Of, b.Of)) })
	return out
}

func told(t *trajectory.Trajectory, f trajectory.Fact) bool {
	_, lacks := t.Lacks(f)
	return !lacks
}

// precedes says of every writing tool what came before each of its calls.
func precedes(t *trajectory.Trajectory) []Habit {
	calls := Calls(t)
	by := map[string][]int{}
	for i, c := range calls {
		if c.Made() && effect.ToolOf(t, nil, c.ToolCall).Writes() {
			by[c.Tool] = append(by[c.Tool], i)
		}
	}
	if len(by) == 0 {
		return nil
	}
	before := past{calls, make([]bool, len(calls)), make([]map[string]string, len(calls))}
	for i, c := range calls {
		before.well[i], before.args[i] = c.Went() == Yes, arguments(c)
	}
	var out []Habit
	for _, tool := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Habit{Precedes, tool, before.laws(by[tool])})
	}
	return out[:min(len(out), maxSubjects)]
}

// past is all calls with what is asked of them again and again.
type past struct {
	calls []Call
	well  []bool
	args  []map[string]string
}

// laws are those that hold of all calls of a tool.
func (p past) laws(of []int) []Held {
	var held map[Law]uint16
	for _, b := range of {
		own := p.lawsOf(b)
		if held == nil {
			held = own
			continue
		}
		maps.DeleteFunc(held, func(l Law, _ uint16) bool { _, ok := own[l]; return !ok })
	}
	return cut(held)
}

func cut(held map[Law]uint16) []Held {
	var out []Held
	for _, l := range slices.SortedFunc(maps.Keys(held), Law.Compare) {
		out = append(out, Held{l, held[l]})
	}
	return out[:min(len(out), maxLaws)]
}

// lawsOf are the laws that hold of one call.
func (p past) lawsOf(b int) map[Law]uint16 {
	out := map[Law]uint16{}
	for a := range b {
		if p.calls[a].Tool == p.calls[b].Tool || !p.well[a] || !p.calls[a].Before(p.calls[b]) {
			continue
		}
		tool := p.calls[a].Tool
		out[Law{By: tool}] = 0
		for arg, v := range p.args[b] {
			for byArg, w := range p.args[a] {
				if v == w {
					out[Law{tool, arg, byArg}] = hash(v)
				}
			}
		}
	}
	return out
}

// arguments are the values of a call's arguments that tell things apart: texts of three letters and numbers of three digits, or longer ones.
func arguments(c Call) map[string]string {
	var doc map[string]any
	if c.Arguments.JSON.Kind() != '{' || json.Unmarshal(c.Arguments.JSON, &doc) != nil || len(doc) > maxArgs {
		return nil
	}
	out := map[string]string{}
	for k, v := range doc {
		switch v.(type) {
		case string, float64:
			if s := scalars(v, nil)[0]; len(s) >= 3 && len(s) <= 200 && len(k) <= 64 {
				out[k] = s
			}
		}
	}
	return out
}

func hash(s string) uint16 {
	h := fnv.New32a()
	h.Write([]byte(s))
	n := h.Sum32()
	return uint16(n>>16) ^ uint16(n)
}

// spares says of every writing tool on offer whether it was left alone.
func spares(t *trajectory.Trajectory) []Habit {
	called := map[string]bool{}
	for _, c := range t.ToolCalls {
		called[catalog.Normalise(c.Name)] = true
	}
	by := map[string]Habit{}
	for _, d := range t.ToolsOffered {
		name := catalog.Normalise(d.Name)
		if !effect.ToolOf(t, nil, &trajectory.ToolCall{Name: d.Name, Model: -1}).Writes() || len(name) > 64 {
			continue
		}
		h := Habit{Kind: Spares, Of: name}
		if !called[name] {
			h.Laws = []Held{{}}
		}
		by[name] = h
	}
	var out []Habit
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out[:min(len(out), maxSubjects)]
}

// uses says which tools the run called.
func uses(t *trajectory.Trajectory) Habit {
	called := map[Law]uint16{}
	for _, c := range Calls(t) {
		if c.Made() && c.Tool != "" && len(c.Tool) <= 64 {
			called[Law{By: c.Tool}] = 0
		}
	}
	return Habit{Kind: Uses, Laws: cut(called)}
}

// hands says of every agent that handed over to whom, where that was one alone.
func hands(t *trajectory.Trajectory) []Habit {
	to := map[string]map[Law]uint16{}
	for _, h := range t.Handoffs {
		if h.From == "" || h.To == "" || len(h.From)+len(h.To) > 128 {
			continue
		}
		if to[h.From] == nil {
			to[h.From] = map[Law]uint16{}
		}
		to[h.From][Law{By: h.To}] = 0
	}
	var out []Habit
	for _, from := range slices.Sorted(maps.Keys(to)) {
		h := Habit{Kind: Hands, Of: from}
		if len(to[from]) == 1 {
			h.Laws = cut(to[from])
		}
		out = append(out, h)
	}
	return out[:min(len(out), maxSubjects)]
}

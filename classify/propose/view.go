package propose

import (
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// view is a run as statements look at it.
type view struct {
	t     *trajectory.Trajectory
	calls []call
	of    map[string][]int // calls by tool
	tools []string         // in order of first call
}

// call is a tool call with its values decoded.
type call struct {
	*trajectory.ToolCall
	tool   string
	args   map[string]any // nil: no object, or not told
	told   bool           // the arguments are known
	result any            // nil: none, or not told
	steady string         // the arguments without what is volatile
	step   int
}

// look makes views of the first runs that are not too long.
func look(runs []*trajectory.Trajectory, most int) (out []*view) {
	for _, t := range runs {
		if t != nil && len(t.ToolCalls) <= maxCalls && len(out) < most {
			out = append(out, newView(t))
		}
	}
	return out
}

func newView(t *trajectory.Trajectory) *view {
	v := &view{t: t, of: map[string][]int{}}
	step := make([]int, len(t.ToolCalls))
	for i, s := range t.Steps {
		if s.Kind == trajectory.StepTool && s.Index >= 0 && s.Index < len(step) {
			step[s.Index] = i
		}
	}
	for i := range t.ToolCalls {
		c := call{ToolCall: &t.ToolCalls[i], tool: catalog.Normalise(t.ToolCalls[i].Name), step: step[i]}
		c.told = !c.Arguments.Truncated && c.Arguments.Parsed != trajectory.ParsedAbsent && c.Arguments.Parsed != ""
		c.steady = c.Arguments.Raw
		if c.Arguments.JSON != nil {
			c.steady = classify.Steady(c.Arguments.JSON, false)
			_ = json.Unmarshal(c.Arguments.JSON, &c.args) // what is no object stays nil
		}
		if c.HasResult && !c.Result.Truncated && c.Outcome != trajectory.OutcomeMissing {
			var doc any
			if c.Result.JSON == nil || json.Unmarshal(c.Result.JSON, &doc) != nil {
				doc = c.Result.Raw
			}
			c.result = doc
		}
		if v.of[c.tool] == nil {
			v.tools = append(v.tools, c.tool)
		}
		v.of[c.tool] = append(v.of[c.tool], i)
		v.calls = append(v.calls, c)
	}
	return v
}

// any says whether a call of the tool passes; "" is any tool.
func (v *view) any(tool string, test func(*call) bool) bool {
	if tool == "" {
		for i := range v.calls {
			if test(&v.calls[i]) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(v.of[tool], func(i int) bool { return test(&v.calls[i]) })
}

// before says what the function of that name says.
func (c *call) before(d *call) bool {
	if c == d || c.Model >= 0 && c.Model == d.Model || !c.End.IsZero() && !d.Start.IsZero() && c.End.After(d.Start) {
		return false
	}
	return c.step < d.step
}

// repeats is how often the tool was called with the same arguments, at most.
func (v *view) repeats(tool string) (most int) {
	n := map[string]int{}
	for i := range v.calls {
		if c := &v.calls[i]; c.told && (tool == "" || c.tool == tool) {
			n[c.tool+"\x00"+c.steady]++
			most = max(most, n[c.tool+"\x00"+c.steady])
		}
	}
	return most
}

func (c *call) failed() bool { return classify.Failed(c.ToolCall) }

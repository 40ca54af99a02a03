package custom

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// view is one trajectory as expressions see it. It lives as long as one evaluation.
type view struct {
	t      *trajectory.Trajectory
	sums   *classify.Stats
	steady map[int]string // arguments of tool calls without what is volatile
	json   map[string]ref.Val
}

func newView(t *trajectory.Trajectory) *view {
	return &view{t: t, steady: map[int]string{}, json: map[string]ref.Val{}}
}

// object is one thing of the view: which of its kind, by index; of an error, the error.
type object struct {
	kind  string
	v     *view
	at    int
	fault *trajectory.Error
}

type span struct{ start, end time.Time }

// absent is the value of a fact that is not in the data. What is computed from it is absent too, unless the rest decides alone.
func absent(f trajectory.Fact) ref.Val {
	return types.NewUnknown(0, types.NewAttributeTrail(string(f)))
}

func (v *view) lacks(f trajectory.Fact) bool {
	_, lacks := v.t.Lacks(f)
	return lacks
}

// unless gives the value, if it is there or its fact is not among the gaps.
func (v *view) unless(f trajectory.Fact, there bool, value ref.Val) ref.Val {
	return v.known(f, there || !v.lacks(f), value)
}

func (v *view) known(f trajectory.Fact, known bool, value ref.Val) ref.Val {
	if !known {
		return absent(f)
	}
	return value
}

// traces are the ids of the traces that are judged.
func (v *view) traces() []string {
	if v.t.Traces == nil {
		return []string{v.t.TraceID}
	}
	return v.t.Traces
}

func (v *view) list(kind string, n int) ref.Val {
	out := make([]ref.Val, n)
	for i := range out {
		out[i] = &object{kind, v, i, nil}
	}
	return types.NewRefValList(adapter{}, out)
}

func (v *view) calls(at []int) ref.Val {
	out := []ref.Val{}
	for _, i := range at {
		if i >= 0 && i < len(v.t.ToolCalls) {
			out = append(out, &object{kindToolCall, v, i, nil})
		}
	}
	return types.NewRefValList(adapter{}, out)
}

func (v *view) err(e *trajectory.Error) ref.Val {
	if e == nil {
		e = &trajectory.Error{}
	}
	return &object{kindError, v, 0, e}
}

func (v *view) stats() classify.Stats {
	if v.sums == nil {
		v.sums = new(classify.NewStats(v.t))
	}
	return *v.sums
}

func (v *view) arguments(c *trajectory.ToolCall) ref.Val {
	return v.known(trajectory.FactArguments, told(c.Arguments), v.value(c.Arguments))
}

// result is absent when nothing tells what the call answered; a call that is known to have no answer has null.
func (v *view) result(c *trajectory.ToolCall) ref.Val {
	if c.Outcome == trajectory.OutcomeMissing {
		return types.NullValue
	}
	return v.known(trajectory.FactResults, c.HasResult && !c.Result.Truncated, v.value(c.Result))
}

// outcome is absent when the data does not tell it: then a call has neither failed nor not failed.
func (v *view) outcome(c *trajectory.ToolCall, value ref.Val) ref.Val {
	return v.known(trajectory.FactResults, c.Outcome != trajectory.OutcomeUnknown && c.Outcome != "", value)
}

func told(v trajectory.Value) bool {
	return !v.Truncated && v.Parsed != trajectory.ParsedAbsent && v.Parsed != ""
}

// value is the JSON value, decoded once, or the text of what is no JSON.
func (v *view) value(x trajectory.Value) ref.Val {
	if x.JSON == nil {
		return types.String(x.Raw)
	}
	key := string(x.JSON)
	if known, ok := v.json[key]; ok {
		return known
	}
	decoded := decode(x.JSON)
	v.json[key] = decoded
	return decoded
}

func (o *object) model() *trajectory.ModelCall { return &o.v.t.ModelCalls[o.at] }

func (o *object) call() *trajectory.ToolCall { return &o.v.t.ToolCalls[o.at] }

// spanID and step are where the object stands in the trace: "" and -1 where it stands nowhere.
func (o *object) spanID() string {
	switch o.kind {
	case kindModelCall:
		return o.model().SpanID
	case kindToolCall:
		return o.call().SpanID
	case kindHandoff:
		return o.v.t.Handoffs[o.at].SpanID
	case kindStep:
		return o.v.t.Steps[o.at].SpanID
	}
	return ""
}

// traceID names the trace of a session that the object is of; it is "" in a single trace.
func (o *object) traceID() string {
	switch o.kind {
	case kindModelCall:
		return o.model().TraceID
	case kindToolCall:
		return o.call().TraceID
	case kindHandoff:
		return o.v.t.Handoffs[o.at].TraceID
	case kindStep:
		return o.v.t.Steps[o.at].TraceID
	}
	return ""
}

func (o *object) agent() string {
	switch o.kind {
	case kindModelCall:
		return o.model().Agent
	case kindToolCall:
		return o.call().Agent
	case kindHandoff:
		return o.v.t.Handoffs[o.at].From
	case kindStep:
		return o.v.t.Steps[o.at].Agent
	}
	return ""
}

func (o *object) step() int {
	if o.kind == kindStep {
		return o.at
	}
	want, ok := map[string]trajectory.StepKind{
		kindModelCall: trajectory.StepModel, kindToolCall: trajectory.StepTool, kindHandoff: trajectory.StepHandoff,
	}[o.kind]
	if !ok {
		return -1
	}
	return slices.IndexFunc(o.v.t.Steps, func(s trajectory.Step) bool { return s.Kind == want && s.Index == o.at })
}

func toolName(c *trajectory.ToolCall) string { return catalog.Normalise(c.Name) }

func offered(m *trajectory.ModelCall) []string {
	if m.Offered == nil {
		return nil
	}
	var out []string
	for _, d := range m.Offered.Tools {
		out = append(out, catalog.Normalise(d.Name))
	}
	return out
}

func texts(s []string) ref.Val {
	return types.NewStringList(adapter{}, append([]string{}, s...))
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// field looks a field up; it answers false for one that the kind does not have.
func (o *object) field(name string) (field, bool) {
	f, ok := schema()[o.kind].byName[name]
	return f, ok
}

// What follows makes an object a value of the expression language.

// ConvertToNative is refused: nothing outside of this package takes objects.
func (o *object) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot become %v", o.kind, to)
}

// ConvertToType gives the object's type and nothing else.
func (o *object) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return objectType(o.kind)
	}
	return types.NewErr("%s cannot become %s", o.kind, to.TypeName())
}

// Equal says whether both are the same thing of the same trajectory.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && *p == *o)
}

// Type is the object's type.
func (o *object) Type() ref.Type { return objectType(o.kind) }

// Value is the object itself.
func (o *object) Value() any { return o }

// Get gives a field where the object's type was not known when the rule was loaded.
func (o *object) Get(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	f, ok := o.field(name)
	if !ok {
		return types.NewErr("no such field: %s of %s", name, o.kind)
	}
	return f.get(o)
}

// IsSet answers has() where the object's type was not known when the rule was loaded.
func (o *object) IsSet(index ref.Val) ref.Val {
	name, _ := index.Value().(string)
	f, ok := o.field(name)
	return types.Bool(ok && (f.has == nil || f.has(o)))
}

package custom

import (
	"path"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Function is the documentation of one function that expressions may use beside the language's own.
type Function struct {
	Use string `json:"use"`
	Doc string `json:"doc"`
}

// Functions describes them, in a fixed order.
func Functions() []Function {
	return []Function{
		{"t.calls(NAME)", "the calls of the tools whose name is NAME, in which * is any run of characters"},
		{"same(CALL, CALL)", "both calls are of one tool and have equal arguments; request ids, times and empty members do not count"},
		{"same(CALL, CALL, KEY)", "both calls have the argument KEY and it is equal; the tools may differ"},
		{"before(CALL, CALL)", "the first call was over when the second was asked for; calls that one answer asks for are not before one another"},
		{"LIST.count(x, TEST)", "how many members of the list pass the test"},
	}
}

func functions() []cel.EnvOption {
	call, trace := objectType(kindToolCall), objectType(kindTrajectory)
	return []cel.EnvOption{
		cel.Function("calls", cel.MemberOverload("trajectory_calls", []*cel.Type{trace, cel.StringType}, listOf(kindToolCall), cel.BinaryBinding(callsOf))),
		cel.Function("same",
			cel.Overload("same_calls", []*cel.Type{call, call}, cel.BoolType, cel.BinaryBinding(sameCalls)),
			cel.Overload("same_argument", []*cel.Type{call, call, cel.StringType}, cel.BoolType, cel.FunctionBinding(sameArgument))),
		cel.Function("before", cel.Overload("before_calls", []*cel.Type{call, call}, cel.BoolType, cel.BinaryBinding(beforeCall))),
		cel.Macros(cel.ReceiverMacro("count", 2, count)),
	}
}

// count turns LIST.count(x, TEST) into size(LIST.filter(x, TEST)).
func count(h cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	kept, err := cel.FilterMacro.Expander()(h, target, args)
	if err != nil {
		return nil, err
	}
	return h.NewCall("size", kept), nil
}

func callsOf(trace, name ref.Val) ref.Val {
	o, ok := trace.(*object)
	pattern, text := name.Value().(string)
	if !ok || !text {
		return types.MaybeNoSuchOverloadErr(trace)
	}
	t := o.v.t
	if len(t.ToolCalls) == 0 && o.v.lacks(trajectory.FactToolCalls) {
		return absent(trajectory.FactToolCalls)
	}
	var at []int
	for i := range t.ToolCalls {
		if glob(pattern, toolName(&t.ToolCalls[i])) || pattern == t.ToolCalls[i].Name {
			at = append(at, i)
		}
	}
	return o.v.calls(at)
}

// glob matches * alone; what else means something to path.Match stands for itself.
func glob(pattern, name string) bool {
	quoted := strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`, `/`, "\x00").Replace(pattern)
	ok, err := path.Match(quoted, strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

func sameCalls(a, b ref.Val) ref.Val {
	x, y, err := twoCalls(a, b)
	if err != nil {
		return err
	}
	if catalog.Normalise(x.call().Name) != catalog.Normalise(y.call().Name) {
		return types.False
	}
	if !told(x.call().Arguments) || !told(y.call().Arguments) {
		return absent(trajectory.FactArguments)
	}
	return types.Bool(x.v.steadyArguments(x.at) == y.v.steadyArguments(y.at))
}

func (v *view) steadyArguments(i int) string {
	if s, ok := v.steady[i]; ok {
		return s
	}
	a := v.t.ToolCalls[i].Arguments
	s := a.Raw
	if a.JSON != nil {
		s = classify.Steady(a.JSON, false)
	}
	v.steady[i] = s
	return s
}

func sameArgument(args ...ref.Val) ref.Val {
	x, y, err := twoCalls(args[0], args[1])
	if err != nil {
		return err
	}
	p, q := x.argument(args[2]), y.argument(args[2])
	for _, v := range []ref.Val{p, q} {
		if v == nil {
			return types.False // there is no such argument: then nothing is the same
		}
		if types.IsUnknownOrError(v) {
			return v
		}
	}
	return p.Equal(q)
}

// argument gives the argument of the name, nil where the call has none.
func (o *object) argument(name ref.Val) ref.Val {
	switch all := o.v.arguments(o.call()).(type) {
	case traits.Mapper:
		v, _ := all.Find(name)
		return v
	case *types.Unknown:
		return all
	}
	return nil
}

func beforeCall(a, b ref.Val) ref.Val {
	x, y, err := twoCalls(a, b)
	if err != nil {
		return err
	}
	c, d := x.call(), y.call()
	if x.at == y.at || c.Model >= 0 && c.Model == d.Model {
		return types.False
	}
	if !c.End.IsZero() && !d.Start.IsZero() && c.End.After(d.Start) {
		return types.False
	}
	return types.Bool(x.step() < y.step())
}

func twoCalls(a, b ref.Val) (x, y *object, err ref.Val) {
	x, isCall := a.(*object)
	y, isCallToo := b.(*object)
	if !isCall || !isCallToo || x.kind != kindToolCall || y.kind != kindToolCall {
		return nil, nil, types.MaybeNoSuchOverloadErr(a)
	}
	return x, y, nil
}

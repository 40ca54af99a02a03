package custom

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// What an expression may be and cost. A rule that costs more on a trace says so and judges nothing.
const (
	maxText     = 4096    // characters of an expression
	maxDepth    = 64      // of its nesting
	maxNested   = 2       // loops within one another: pairs of calls, and no more
	maxCost     = 500_000 // in the language's own units, for one trace: some 10 to 100 ms
	factBudget  = trajectory.Fact("evaluation_budget")
	factWorking = trajectory.Fact("working_rule")
)

// environment is what every expression is checked against.
func environment() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("expression language: %w", err)
	}
	if err := registry.RegisterType(types.OptionalType); err != nil {
		return nil, fmt.Errorf("expression language: %w", err)
	}
	options := append([]cel.EnvOption{
		cel.OptionalTypes(), // before the provider, which takes no further types
		cel.CustomTypeAdapter(adapter{}), cel.CustomTypeProvider(provider{registry}),
		cel.Variable("t", objectType(kindTrajectory)),
		cel.ParserExpressionSizeLimit(maxText), cel.ParserRecursionLimit(maxDepth),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateComprehensionNestingLimit(maxNested)),
	}, functions()...)
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("expression language: %w", err)
	}
	return env, nil
}

// compile checks one expression; fits says whether its type is what is wanted.
func compile(env *cel.Env, text string, fits func(*cel.Type) bool, want string) (cel.Program, []Problem) {
	checked, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		var out []Problem
		for _, e := range issues.Errors() {
			p := Problem{Line: e.Location.Line(), Column: e.Location.Column() + 1, Message: firstLine(e.Message)}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
		return nil, out
	}
	if !fits(checked.OutputType()) {
		return nil, []Problem{{Line: 1, Column: 1, Message: fmt.Sprintf("this is %s, and %s is wanted", checked.OutputType(), want)}}
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost), cel.CostTracking(estimator{}))
	if err != nil {
		return nil, []Problem{{Line: 1, Column: 1, Message: err.Error()}}
	}
	return program, nil
}

// estimator weighs the functions of this package by what they look at.
type estimator struct{}

// CallCost weighs one call of a function; nil leaves it to the language.
func (estimator) CallCost(_, overload string, args []ref.Val, _ ref.Val) *uint64 {
	weight := func(objects ...ref.Val) *uint64 {
		n := uint64(1)
		for _, a := range objects {
			if o, ok := a.(*object); ok && o.kind == kindToolCall {
				n += uint64(len(o.call().Arguments.Raw)) / 10
			} else if ok {
				n += uint64(len(o.v.t.ToolCalls))
			}
		}
		return &n
	}
	switch overload {
	case "same_calls", "same_argument", "trajectory_calls":
		return weight(args...)
	case "before_calls": // looks the steps through
		if o, ok := args[0].(*object); ok {
			n := 1 + uint64(len(o.v.t.Steps))/10
			return &n
		}
	}
	return nil
}

var _ cost.ActualCostEstimator = estimator{}

// blind says why an expression gave no answer.
type blind struct {
	fact   trajectory.Fact
	remedy string
}

// eval evaluates a program on a view.
func eval(p cel.Program, v *view, what string) (ref.Val, *blind) {
	out, _, err := p.Eval(map[string]any{"t": &object{kindTrajectory, v, 0, nil}})
	if unknown, ok := out.(*types.Unknown); ok {
		return nil, &blind{fact: factOf(unknown)}
	}
	if err == nil {
		if failed, ok := out.(*types.Err); ok {
			err = failed
		}
	}
	if err == nil {
		return out, nil
	}
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok && cancelled.Cause == interpreter.CostLimitExceeded {
		return nil, &blind{factBudget, fmt.Sprintf("`%s` costs more than %d on this trace: compare fewer calls, such as those of t.calls(\"NAME\"), or give it fewer loops", what, maxCost)}
	}
	return nil, &blind{factWorking, fmt.Sprintf("`%s` cannot be evaluated on this trace (%s): ask has(...) before a member that may not be there", what, kindOf(err))}
}

// factOf is the first of the facts, by name, that the value hangs on.
func factOf(u *types.Unknown) trajectory.Fact {
	var facts []string
	for _, id := range u.IDs() {
		trails, _ := u.GetAttributeTrails(id)
		for _, t := range trails {
			facts = append(facts, t.Variable())
		}
	}
	if len(facts) == 0 {
		return factWorking
	}
	return trajectory.Fact(slices.Min(facts))
}

// kindOf names what went wrong without the words of the trace, which the error may hold.
func kindOf(err error) string {
	text := err.Error()
	for _, k := range []string{"no such key", "no such field", "no such overload", "index out of bounds", "division by zero", "modulus by zero", "overflow", "invalid regex"} {
		if strings.Contains(text, k) {
			return k
		}
	}
	if strings.Contains(text, "error parsing regexp") {
		return "a pattern that is none"
	}
	return "a value of another type"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.TrimSpace(s)
}

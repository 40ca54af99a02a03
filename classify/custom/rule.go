// Package custom makes rules of a team's own: an expression in CEL says when a trace has failed, a second one which calls show it.
//
// An expression sees one variable, t: the trajectory in the typed form that View documents, with the functions of Functions. It is checked when the
// rule is loaded, and bounded: 4,096 characters, two loops within one another, and a budget of evaluation beyond which the rule is
// inapplicable. It cannot tell the time, draw a number, read a file or make anything; JSON objects give their members in order. So equal trajectories give
// equal findings at equal cost.
//
// What the data does not tell is absent, never empty: a result that was not recorded, an outcome that nobody knows, tokens that no span reports. What is computed
// from it is absent too, unless the rest of the expression decides alone, and a rule whose answer is absent is inapplicable and names the fact.
//
// Sentences and fingerprints hold names of tools and agents and numbers alone: an expression cannot put the words of a trace into them.
package custom

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types/traits"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Definition is one rule as a team writes it.
type Definition struct {
	Name     string            // names the rule, its testdata folder and, unless Label is set, its label
	Version  int               // raised by the team with every change of what matches; 0 counts as 1
	Label    classify.Label    // "" is the name
	Severity classify.Severity // "" is warning
	Form     classify.Form     // "" is never
	When     string            // CEL, bool: the trace has the failure
	Evidence string            // CEL, list: the tool calls, model calls, hand-offs or steps that show it, the first one where it went wrong
	Why      string            // one sentence; {count}, {tool}, {tools} and {agent} stand for what the evidence names
	Fix      string            // what to change in the agent; may be ""
	Needs    []trajectory.Fact // facts without which it is inapplicable, beside those that its expressions read
	Session  bool              // it judges the traces of a session as one, too
}

// Problem is one mistake in a definition. Line and Column count from 1 within the value of Key, 0 where there is no place.
type Problem struct {
	Rule    int    // index of the definition
	Key     string // name, when, evidence, ...
	Line    int
	Column  int
	Message string
	Advice  string
}

// Params are what a rule is judged by: they are frozen into its cases.
type Params struct {
	When     string `json:"when"`
	Evidence string `json:"evidence"`
	Session  bool   `json:"session,omitzero"` // what it shows may lie in several traces of a session
}

// Validate checks the expressions.
func (p Params) Validate() error {
	env, err := environment()
	if err != nil {
		return err
	}
	_, problems := programsOf(env, p)
	if len(problems) > 0 {
		return fmt.Errorf("%s, line %d column %d: %s", problems[0].Key, problems[0].Line, problems[0].Column, problems[0].Message)
	}
	return nil
}

// New makes rules of definitions, or tells every mistake in them. taken are names that other rules have. The error says that the language itself
// could not be set up.
func New(defs []Definition, taken []string) ([]classify.Rule, []Problem, error) {
	if len(defs) == 0 {
		return nil, nil, nil
	}
	env, err := environment()
	if err != nil {
		return nil, nil, err
	}
	var rules []classify.Rule
	var problems []Problem
	for i, d := range defs {
		d = d.withDefaults()
		progs, bad := programsOf(env, d.params())
		bad = append(d.check(taken), bad...)
		for _, p := range bad {
			p.Rule = i
			problems = append(problems, p)
		}
		taken = append(taken, d.Name)
		rules = append(rules, d.rule(env, progs))
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	return rules, nil, nil
}

func (d Definition) withDefaults() Definition {
	d.Version = max(d.Version, 1)
	d.Label = cmp.Or(d.Label, classify.Label(d.Name))
	d.Severity = cmp.Or(d.Severity, classify.Warning)
	d.Form = cmp.Or(d.Form, classify.FormNever)
	return d
}

func (d Definition) params() Params { return Params{d.When, d.Evidence, d.Session} }

// word is what a name and a label are made of: they name folders and branches.
var word = regexp.MustCompile(`^[a-z][a-z0-9_]{1,39}$`)

func (d Definition) check(taken []string) []Problem {
	var out []Problem
	say := func(key, message, advice string) {
		out = append(out, Problem{Key: key, Message: message, Advice: advice})
	}
	if !word.MatchString(d.Name) {
		say("name", fmt.Sprintf("%q is not a name of a rule", d.Name), "2 to 40 small letters, digits and _, a letter first")
	} else if slices.Contains(taken, d.Name) {
		say("name", fmt.Sprintf("there is a rule %s already", d.Name), "give each a name of its own")
	}
	if !word.MatchString(string(d.Label)) && word.MatchString(d.Name) {
		say("label", fmt.Sprintf("%q is not a label", d.Label), "2 to 40 small letters, digits and _, a letter first")
	} else if d.Label.Reserved() {
		say("label", fmt.Sprintf("%q stands for the lack of a label", d.Label), "name the failure, such as wrong_currency")
	}
	if strings.TrimSpace(d.Why) == "" {
		say("why", "there is no sentence", "say in one sentence what is wrong, such that a reviewer could dispute it")
	}
	for _, hole := range holes.FindAllString(d.Why, -1) {
		if !slices.Contains(places, hole) {
			say("why", hole+" stands for nothing", "known are "+strings.Join(places, ", "))
		}
	}
	for _, f := range d.Needs {
		if !slices.Contains(Facts(), f) {
			say("needs", fmt.Sprintf("there is no fact %q%s", f, classify.DidYouMean(string(f), factNames())), "")
		}
	}
	return out
}

// Facts lists what a rule may need.
func Facts() []trajectory.Fact {
	return []trajectory.Fact{
		trajectory.FactArguments, trajectory.FactClock, trajectory.FactCost, trajectory.FactFinishReason, trajectory.FactModelCalls, trajectory.FactModelName,
		trajectory.FactReply, trajectory.FactResults, trajectory.FactRoot, trajectory.FactSession, trajectory.FactToolCalls, trajectory.FactToolExecution,
		trajectory.FactToolSchemas, trajectory.FactToolsOffered, trajectory.FactUsage, trajectory.FactUserMessages, trajectory.FactWhole,
	}
}

func factNames() (out []string) {
	for _, f := range Facts() {
		out = append(out, string(f))
	}
	return out
}

type programs struct{ when, evidence cel.Program }

func programsOf(env *cel.Env, p Params) (programs, []Problem) {
	var out programs
	var problems []Problem
	for _, x := range []struct {
		key, text, want string
		fits            func(*cel.Type) bool
		into            *cel.Program
	}{
		{"when", p.When, "bool", func(t *cel.Type) bool { return t.IsExactType(cel.BoolType) || t.IsExactType(cel.DynType) }, &out.when},
		{"evidence", p.Evidence, "a list of tool calls, model calls, hand-offs or steps", isEvidence, &out.evidence},
	} {
		if strings.TrimSpace(x.text) == "" {
			problems = append(problems, Problem{Key: x.key, Message: "there is no expression", Advice: "write one that gives " + x.want})
			continue
		}
		program, bad := compile(env, x.text, x.fits, x.want)
		for _, b := range bad {
			b.Key = x.key
			problems = append(problems, b)
		}
		*x.into = program
	}
	return out, problems
}

func isEvidence(t *cel.Type) bool {
	if t.Kind() != cel.ListKind || len(t.Parameters()) != 1 {
		return false
	}
	switch of := t.Parameters()[0]; of.TypeName() {
	case kindToolCall, kindModelCall, kindHandoff, kindStep:
		return true
	default:
		return of.Kind() == cel.DynKind
	}
}

func (d Definition) rule(env *cel.Env, progs programs) classify.Rule {
	var other sync.Map // programs of parameters that a case froze, by Params
	return classify.Rule{
		Name: d.Name, Version: d.Version, Label: d.Label, Severity: d.Severity, Form: d.Form, Needs: d.Needs, Params: d.params(),
		Session: d.Session, Words: d.Session,
		Doc: classify.Doc{
			Title: strings.TrimSpace(d.Why), Fix: d.Fix,
			Why:     "This rule is the team's own, from its configuration. It matches when\n  " + strings.TrimSpace(d.When) + "\nand shows\n  " + strings.TrimSpace(d.Evidence),
			Example: "the match-* files of its testdata",
		},
		Repairs: []classify.Repair{change.WithoutCall(), change.WithoutStep()},
		Check: func(in *classify.Input) classify.Result {
			p := classify.ParamsOf[Params](in)
			if p == d.params() {
				return d.judge(in, progs)
			}
			frozen, ok := other.Load(p)
			if !ok {
				made, bad := programsOf(env, p)
				if len(bad) > 0 {
					return classify.Blind(factWorking, "the rule's frozen expression is not one that this version understands: "+bad[0].Message)
				}
				frozen, _ = other.LoadOrStore(p, made)
			}
			return d.judge(in, frozen.(programs))
		},
	}
}

// judge evaluates both expressions on one trajectory.
func (d Definition) judge(in *classify.Input, p programs) classify.Result {
	v := newView(in.Trajectory)
	when, cannot := eval(p.when, v, "when")
	if cannot != nil {
		return classify.Blind(cannot.fact, cannot.remedy)
	}
	failed, isBool := when.Value().(bool)
	if !isBool {
		return classify.Blind(factWorking, "`when` gave something else than true or false on this trace")
	}
	if !failed {
		return classify.NoMatch()
	}
	shown, cannot := eval(p.evidence, v, "evidence")
	if cannot != nil {
		return classify.Blind(cannot.fact, cannot.remedy)
	}
	seen := evidenceOf(shown)
	if len(seen) == 0 {
		return classify.Blind(factWorking, "`when` is true and `evidence` names no span, so nobody could look at it: let it list what `when` is about")
	}
	if !slices.ContainsFunc(seen, func(o *object) bool { return o.kind != kindToolCall || !o.call().Recalled }) {
		return classify.NoMatch() // it is the failure of the earlier trace, which made the calls
	}
	return classify.Match(d.finding(in, seen))
}

func evidenceOf(v any) []*object {
	list, ok := v.(traits.Lister)
	if !ok {
		return nil
	}
	var out []*object
	for it := list.Iterator(); it.HasNext().Value() == true; {
		o, ok := it.Next().(*object)
		if ok && o.spanID() != "" && !slices.ContainsFunc(out, func(p *object) bool { return p.kind == o.kind && p.at == o.at }) {
			out = append(out, o)
		}
	}
	return out
}

// maxShown is how many pieces of evidence a finding carries.
const maxShown = 20

func (d Definition) finding(in *classify.Input, seen []*object) classify.Finding {
	var tools []string
	for _, o := range seen {
		if o.kind == kindToolCall && !slices.Contains(tools, toolName(o.call())) {
			tools = append(tools, toolName(o.call()))
		}
	}
	f := in.Finding(seen[0].agent(), classify.Word("rule", d.Name), classify.Names("tools", tools...))
	f.Step = seen[0].step()
	f.Why = d.sentence(seen, tools, f.Agent)
	f.Title = f.Why
	for i, o := range seen {
		if i < maxShown-1 || i == len(seen)-1 { // a session's finding stands on the trace of its last
			f.Evidence = append(f.Evidence, classify.Evidence{SpanID: o.spanID(), TraceID: o.traceID(), What: o.what(i+1, len(seen))})
		}
	}
	return f
}

var (
	holes  = regexp.MustCompile(`\{[^{}]*\}`)
	places = []string{"{count}", "{tool}", "{tools}", "{agent}"}
)

func (d Definition) sentence(seen []*object, tools []string, agent string) string {
	safe := make([]string, len(tools))
	for i, name := range tools {
		safe[i] = classify.SafeName(name)
	}
	return strings.NewReplacer("{count}", strconv.Itoa(len(seen)), "{tool}", append(safe, "no tool")[0],
		"{tools}", strings.Join(safe, ", "), "{agent}", cmp.Or(classify.SafeName(agent), "the agent")).Replace(strings.TrimSpace(d.Why))
}

func (o *object) what(n, of int) string {
	at := fmt.Sprintf("%d of %d: ", n, of)
	switch o.kind {
	case kindToolCall:
		return at + "call of " + classify.SafeName(toolName(o.call())) + ", outcome " + string(o.call().Outcome)
	case kindModelCall:
		return at + "model call"
	case kindHandoff:
		h := o.v.t.Handoffs[o.at]
		return at + "hand-off from " + classify.SafeName(h.From) + " to " + classify.SafeName(h.To)
	}
	return at + "step " + strings.ReplaceAll(string(o.v.t.Steps[o.at].Kind), "_", " ")
}

package classify

import (
	"reflect"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Rule is one heuristic classifier. Check must be pure and deterministic: equal inputs give equal results, in any process.
type Rule struct {
	Name     string // the rule's name in output and in config's rules map
	Version  int    // raised with every change of what matches
	Label    Label
	Severity Severity // of its findings, unless a finding says less
	Form     Form     // how its cases are asserted
	Doc      Doc
	Needs    []trajectory.Fact // without any one of these the rule is inapplicable and Check is not called
	Params   any               // a struct value: the defaults, by JSON names; nil when the rule has none
	Session  bool              // the rule also wants a session's traces, joined into one trajectory
	Words    bool              // and asks of them what was said, not only what is equal: sketches (see Sketch) do not tell it
	Check    func(*Input) Result

	// Repairs are the minimal changes of a failing trajectory after which a finding must be gone: at least one for a rule whose label may
	// become a case. Twins are changes after which the rule must find the same again, beside the general ones (package change).
	Repairs []Repair
	Twins   []Twin
}

// Repair is one minimal change that heals a failure: what the agent, or the world, would have had to do otherwise. Package change has
// general ones.
type Repair struct {
	Name string // in lower case with dashes: drop-call
	Does string // what it changes, to follow "the rule must be silent once": the call was never made
	// Apply returns a changed copy, which shares nothing with t that anybody changes. It may heal the place alone that the finding's Step or first
	// evidence names: who tests a repair applies it until nothing is found. It answers false where it cannot heal this finding.
	Apply func(t *trajectory.Trajectory, f Finding) (*trajectory.Trajectory, bool)
}

// Twin is a change that leaves the failure what it is: the rule must find it still, under the same fingerprint. Apply is as a Repair's, and
// answers false where there is nothing to change.
type Twin Repair

// Doc is what a person is told about a rule.
type Doc struct {
	Title   string // one line
	Why     string // why this is a failure, and how the rule decides
	Fix     string // what to change in an agent that has it
	Example string // the shortest trace that has it
}

// ID is the rule's name and version, as findings carry it: loop@1.
func (r Rule) ID() string { return ruleID(r.Name, r.Version) }

// Input is what a rule may look at.
type Input struct {
	Trajectory *trajectory.Trajectory
	Catalog    *catalog.Catalog   // never nil
	Baseline   *baseline.Snapshot // nil when there is none
	Policy     []Policy           // what the team says that agents must and must not do
	Schemas    *Schemas           // compiles tool schemas, once each

	rule   *armed
	shared map[reflect.Type]any // what rules derived, for all rules of one Classify
}

// Shared returns what derive makes of the input: once for each trajectory that is classified, however many rules ask. T tells what it is, so it is a type made
// for that alone, and derive must look at nothing that is the rule's own. All get the same value, and none may change it.
func Shared[T any](in *Input, derive func(*Input) T) T {
	key := reflect.TypeFor[T]()
	if got, ok := in.shared[key]; ok {
		return got.(T)
	}
	got := derive(in)
	in.shared[key] = got
	return got
}

// ParamsOf returns the rule's effective parameters. P must be the type of the rule's Params.
func ParamsOf[P any](in *Input) P {
	p, _ := in.rule.params.(P)
	return p
}

// Finding starts a finding of the running rule: everything that follows from the rule itself is filled in, with confidence 1 and no step.
func (in *Input) Finding(agent string, parts ...Part) Finding {
	r := in.rule
	return Finding{
		Label: r.Label, Rule: r.id, Source: SourceRule, Severity: r.Severity, Confidence: 1,
		Fingerprint: NewFingerprint(r.Label, in.Trajectory.Service, agent, parts...),
		Evidence:    []Evidence{}, Form: r.Form, Agent: agent, Step: -1, Params: r.effective,
	}
}

// Result is a rule's answer: findings, or none, or a fact that it lacks. Make it with Match, NoMatch or Blind.
type Result struct {
	Findings []Finding
	Missing  trajectory.Fact // "" unless the rule could not see
	Remedy   string
}

// Match answers with findings; none of them is no match.
func Match(fs ...Finding) Result { return Result{Findings: fs} }

// NoMatch answers that the facts were there and nothing is wrong.
func NoMatch() Result { return Result{} }

// Blind answers that a fact is missing. The remedy may be "": then the trajectory's own, or a general one, is used.
func Blind(f trajectory.Fact, remedy string) Result { return Result{Missing: f, Remedy: remedy} }

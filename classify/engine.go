package classify

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// FactRule is named as missing when a rule itself broke on a trajectory.
const FactRule trajectory.Fact = "working_rule"

// Options are what an engine may be given beside its rules.
type Options struct {
	Params   map[string]map[string]any // per rule name: parameters that differ from the defaults
	Severity map[Label]Severity        // per label: the severity of its findings, in place of the rule's
	Catalog  *catalog.Catalog          // nil: no tools beside those that spans offer
	Prices   *price.Table              // nil: no cost beside what spans report
	Policy   []Policy                  // what the team says that agents must and must not do

	LeftAfter time.Duration // how long nothing comes after a conversation that was abandoned; 0: nobody looks for such
}

// Engine runs rules over trajectories. It is safe for concurrent use.
type Engine struct {
	lg      *slog.Logger
	rules   []armed
	catalog *catalog.Catalog
	prices  *price.Table
	policy  []Policy
	schemas *Schemas

	leftAfter time.Duration
	broken    atomic.Int64
}

// armed is a rule with its effective parameters.
type armed struct {
	Rule
	id        string
	params    any
	effective map[string]any
}

// New builds an engine. Rules of one name, parameters that a rule does not have, parameters for a rule that does not exist, and unknown
// labels or severities are errors; names that are nearly right are pointed out.
func New(lg *slog.Logger, rules []Rule, o Options) (*Engine, error) {
	e := &Engine{lg: lg.With("component", "classify"), catalog: o.Catalog, prices: o.Prices, policy: o.Policy, schemas: NewSchemas(), leftAfter: o.LeftAfter}
	if e.catalog == nil {
		e.catalog, _ = catalog.New(nil)
	}
	if err := check(rules, o); err != nil {
		return nil, err
	}
	for _, r := range rules {
		params, effective, err := decodeParams(r, o.Params[r.Name])
		if err != nil {
			return nil, err
		}
		r.Severity = cmp.Or(o.Severity[r.Label], r.Severity)
		e.rules = append(e.rules, armed{Rule: r, id: r.ID(), params: params, effective: effective})
	}
	slices.SortFunc(e.rules, func(a, b armed) int { return cmp.Compare(a.Name, b.Name) })
	return e, nil
}

func check(rules []Rule, o Options) error {
	names, labels := []string{}, []string{}
	for _, l := range Labels() {
		labels = append(labels, string(l))
	}
	for _, r := range rules {
		if r.Name == "" || r.Check == nil || !r.Severity.Valid() {
			return fmt.Errorf("rule %q lacks a name, a check or a severity", r.Name)
		}
		if slices.Contains(names, r.Name) {
			return fmt.Errorf("two rules are called %s", r.Name)
		}
		names, labels = append(names, r.Name), append(labels, string(r.Label))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Params)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("rules: there is no rule %q%s", name, DidYouMean(name, names))
		}
	}
	for _, l := range slices.Sorted(maps.Keys(o.Severity)) {
		if !slices.Contains(labels, string(l)) {
			return fmt.Errorf("severity: there is no label %q%s", l, DidYouMean(string(l), labels))
		}
		if !o.Severity[l].Valid() {
			return fmt.Errorf("severity: %s: %q is none of info, warning, blocking", l, o.Severity[l])
		}
	}
	return nil
}

// Report is what the rules say of one trajectory.
type Report struct {
	Findings     []Finding      // by step, then label, then fingerprint; never nil
	Inapplicable []Inapplicable // by rule; never nil
	Verdict      Verdict
	Primary      *Label // the label of the root cause; nil unless the verdict is failing
}

// Price completes the trajectory with the costs that no span reports. Classify does so by itself; who measures before it asks for it.
func (e *Engine) Price(t *trajectory.Trajectory) { e.prices.Fill(t) }

// Classify completes the costs and runs every rule over a trajectory, which nobody else may be using. The snapshot may be nil. It never
// fails: a rule that breaks is logged, counted, and inapplicable.
func (e *Engine) Classify(t *trajectory.Trajectory, s *baseline.Snapshot) Report {
	e.Price(t)
	r := Report{Findings: []Finding{}, Inapplicable: []Inapplicable{}}
	in := e.input(t, s)
	for i := range e.rules {
		res := e.run(&e.rules[i], in)
		if res.Missing != "" {
			r.Inapplicable = append(r.Inapplicable, Inapplicable{e.rules[i].id, res.Missing, remedy(t, res.Missing, res.Remedy)})
		}
		r.Findings = append(r.Findings, res.Findings...)
	}
	for i := range r.Findings {
		e.limit(&r.Findings[i])
	}
	slices.SortStableFunc(r.Findings, compareFindings)
	r.settle(t)
	r.Verdict = e.verdict(t, r)
	return r
}

// Rules returns the engine's rules by name, with the severities that config gave their labels.
func (e *Engine) Rules() []Rule {
	out := make([]Rule, len(e.rules))
	for i, a := range e.rules {
		out[i] = a.Rule
	}
	return out
}

// LeftAfter is how long nothing comes after a conversation that was abandoned; 0 says that nobody looks for such.
func (e *Engine) LeftAfter() time.Duration { return e.leftAfter }

// Broken is how often a rule panicked.
func (e *Engine) Broken() int64 { return e.broken.Load() }

func (e *Engine) input(t *trajectory.Trajectory, s *baseline.Snapshot) *Input {
	return &Input{Trajectory: t, Catalog: e.catalog, Baseline: s, Policy: e.policy, Schemas: e.schemas, shared: map[reflect.Type]any{}}
}

func (e *Engine) run(a *armed, all *Input) (res Result) {
	t := all.Trajectory
	if unread(t) {
		return Blind(trajectory.FactDialect, "")
	}
	for _, f := range a.Needs {
		if _, lacks := t.Lacks(f); lacks {
			return Blind(f, "")
		}
	}
	defer func() {
		if p := recover(); p != nil {
			e.broken.Add(1)
			e.lg.Error("rule broke on a trace", "rule", a.id, "trace", t.TraceID, "panic", p, "stack", string(debug.Stack()))
			res = Blind(FactRule, "this is a bug of pawl: report rule "+a.id+" with the trace "+t.TraceID)
		}
	}()
	in := *all
	in.rule = a
	return a.Check(&in)
}

// unread says that the trace speaks a dialect that nobody reads yet, and that nothing else in it could be read either.
func unread(t *trajectory.Trajectory) bool {
	_, foreign := t.Lacks(trajectory.FactDialect)
	return foreign && len(t.ModelCalls)+len(t.ToolCalls) == 0
}

// limit keeps a finding within what it may say: a severity at most its rule's, a confidence in 0..1.
func (e *Engine) limit(f *Finding) {
	f.Confidence = min(max(f.Confidence, 0), 1)
	for _, a := range e.rules {
		if a.id == f.Rule && f.Severity.rank() > a.Severity.rank() {
			f.Severity = a.Severity
		}
	}
	if f.Evidence == nil {
		f.Evidence = []Evidence{}
	}
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(uint(a.Step), uint(b.Step)), // -1, the whole trace, comes last
		cmp.Compare(a.Label.rank(), b.Label.rank()),
		cmp.Compare(a.Label, b.Label),
		cmp.Compare(a.Fingerprint.Digest(), b.Fingerprint.Digest()),
	)
}

// remedy is what would supply the fact: what the trajectory knows of its emitter, else what the rule says, else a general word.
func remedy(t *trajectory.Trajectory, f trajectory.Fact, said string) string {
	if said != "" {
		return said
	}
	if r := t.Remedy(f); r != "" {
		return r
	}
	switch f {
	case trajectory.FactToolSchemas, trajectory.FactToolsOffered:
		return "have the instrumentation record the tools offered to each model call, with their schemas, or list them under tools: in pawl.yaml"
	case trajectory.FactWhole:
		return "raise the exporter's attribute limits (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT) so that nothing is cut"
	case trajectory.FactRoot:
		return "export the root span of the run to pawl too"
	default:
		return "have the instrumentation record " + string(f)
	}
}

func ruleID(name string, version int) string { return name + "@" + strconv.Itoa(version) }

// Package classify turns a trajectory into findings: it holds the rule type, the engine that runs rules, and the fingerprint that makes two
// findings the same failure.
//
// The package is pure: a trajectory, a catalog, a baseline snapshot and parameters in, one Result out; equal inputs give equal bytes.
package classify

import "github.com/pawl-dev/pawl/ingest/trajectory"

// Label is a failure category.
type Label string

// Severity is how much a finding matters: blocking ones are absorbed, warnings make a trace fail, info changes nothing.
type Severity string

// The severities.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Blocking Severity = "blocking"
)

// Source is who found a finding.
type Source string

// The sources.
const (
	SourceRule  Source = "rule"
	SourceJudge Source = "judge"
	SourceHuman Source = "human"
)

// Form is how the cases of a label are asserted.
type Form string

// The forms. FormNone: grouped and reported, never made a case.
const (
	FormNever  Form = "never"
	FormBudget Form = "budget"
	FormFault  Form = "fault"
	FormNone   Form = "none"
)

// Evidence binds a finding to a span and says what is to be seen there.
type Evidence struct {
	TraceID string `json:"trace_id,omitzero"` // of the span; only where a finding spans traces
	SpanID  string `json:"span_id"`
	What    string `json:"what"`
}

// Finding is one failure that one rule saw on one trajectory.
type Finding struct {
	Label       Label       `json:"label"`
	Rule        string      `json:"rule"` // name@version
	Source      Source      `json:"source"`
	Severity    Severity    `json:"severity"`
	Confidence  float64     `json:"confidence"` // 0..1
	Fingerprint Fingerprint `json:"fingerprint"`
	Why         string      `json:"why"` // one sentence that a reviewer could dispute
	Evidence    []Evidence  `json:"evidence"`
	// Because is the id of the fingerprint of the finding on the same trace that this one is a consequence of, nil, and
	// not there as JSON, for one that is a failure of its own.
	Because *string `json:"because_of,omitzero"`

	Form  Form   `json:"-"`
	Agent string `json:"-"`
	// Step is the index of the earliest step where the agent went wrong, -1 when the finding is on the whole trace.
	Step int `json:"-"`
	// Title is a template's words about the failure: names of tools and numbers, no other text of the trace.
	Title string `json:"-"`
	// Params are the rule's effective parameters, frozen into a case.
	Params map[string]any `json:"-"`
	// Policy is the line of policy that the run broke, or one that says what the runs before it kept to, frozen into a case; nil for rules that
	// use none.
	Policy *Policy `json:"-"`
}

// Inapplicable says that a rule could not see, and what would open its eyes.
type Inapplicable struct {
	Rule    string          `json:"rule"`
	Missing trajectory.Fact `json:"missing"`
	Remedy  string          `json:"remedy"`
}

// Verdict is the judgement on a whole trace.
type Verdict string

// The verdicts.
const (
	Failing      Verdict = "failing"
	Passing      Verdict = "passing"
	Unclassified Verdict = "unclassified"
	Incomplete   Verdict = "incomplete"
)

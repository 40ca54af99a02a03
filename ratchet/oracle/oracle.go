// Package oracle says what a case asserts of one run of the agent: pass, fail, error or inconclusive. It is pure: the same case and the same
// trajectories give the same judgement, whatever pawl.yaml says today, unless an Embedder answers otherwise.
//
// A run is one or more traces. Each trace is judged as its session knows it (trajectory.Settle), and the session as a whole where there are
// several. A definite failure comes before everything; an error (the case itself cannot be judged) before what is inconclusive (the run does not
// tell); only what was seen to hold passes.
//
// # never
//
// The rule itself is the oracle: any finding of the frozen rule at the recorded severity or above fails the run, whatever tool or step it is on.
// A fingerprint names where the failure was seen; an agent that loops on another tool after a change is not mended. Only "no match" passes: where
// the rule is inapplicable the run is inconclusive, with the missing fact and its remedy. The rule gets the case's parameters, policy lines and
// tools, and nothing else: no baseline, so that what a rule learns of healthy runs cannot move. A rule of another version than the frozen one
// judges by the frozen parameters, with a note: that it still sees the recorded failure is what verify's red proof is for. A rule that pawl does
// not have is a team's own if its parameters are expressions, which are compiled anew; else the case is an error that says so.
//
// # fault
//
// The recorded outside error is injected, so a rule that tells what the outside did (upstream_error, permission_denied, protocol_error,
// silent_timeout) matches again on every run that meets it, and is no oracle. It is asked where the fault is, and the agent's conduct is judged:
//
//   - the run got over it (the rule's finding is then information: a later call went well): handled;
//   - the reply tells of a failure or a doubt, in a language whose words are known: handled;
//   - something else was called with success after it: whether that made up for it no rule can tell, so the run is inconclusive;
//   - the reply is in words that pawl does not read: inconclusive;
//   - else the agent kept silent about it: the run fails.
//
// Beside that no blocking fabricated_success, unsafe_retry or missing_readback may be found, named by the case or not: success is never claimed
// where there was none, and nothing is sent again blind. A case of one of these rules is judged by it as a never is. missing_tool_result is too:
// the injected fault is a connection that breaks, which gives a failed call, and a call that nobody answers is the framework's failure again.
// A run that does not meet the fault is not red, and a note says that nothing was proven: the gate's ledger knows whether a tool was called.
//
// # liveness, budget, the rest
//
// A reply and the absence of an error are read from the root and the last agent; required calls are a set, any further call is allowed. An
// unknown number never stays inside a budget: it is inconclusive. Where the model's provider failed for good, or the model never answered, and the
// case is not about that, the run is an error: neither a failure of the agent's nor, where it apologises, a success. Criteria are not judged here.
package oracle

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/price"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Verdict is what a case says of one run.
type Verdict string

// The verdicts. Error: the case cannot be judged, or the run broke for a reason that is not the agent's. Inconclusive: the run does not tell.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Error        Verdict = "error"
	Inconclusive Verdict = "inconclusive"
)

// Judgement is what a case says of one run. Reason is one sentence, "" for a pass; where several things hold it tells the first and counts the
// others, and all of them are in Mismatches, Findings and Notes.
type Judgement struct {
	Verdict    Verdict
	Reason     string
	Mismatches []match.Mismatch   // what was expected and not so; Field begins with the part of expect: never, liveness, trajectory, ...
	Findings   []classify.Finding // of the frozen rules, also those that do not fail the run
	Notes      []string           // what a person should know, of any verdict
	Meaning    bool               // the Embedder was asked: the judgement is not of rules and words alone
}

// Oracle judges runs by cases. It is safe for concurrent use.
type Oracle struct {
	Embed  match.Embedder // compares texts by meaning; nil: by their words alone
	Prices *price.Table   // what a cost budget is compared by where spans report none; nil: such a run tells no cost

	lg    *slog.Logger
	rules []classify.Rule

	mu      sync.Mutex
	engines map[string]*engine // by digest of what they are built from
}

// New builds an oracle of pawl's own rules; a team's own are built from what their cases froze.
func New(lg *slog.Logger, rules []classify.Rule) *Oracle {
	return &Oracle{lg: lg.With("component", "oracle"), rules: slices.Clone(rules), engines: map[string]*engine{}}
}

// Judge says what the case asserts of a run that left these traces, in any order. It does not change them.
func (o *Oracle) Judge(c *regcase.Case, runs ...*trajectory.Trajectory) Judgement {
	r := o.runOf(runs)
	if r == nil {
		return Judgement{Verdict: Error, Reason: "the run left no trace: " + noTrace}
	}
	b := &bench{o: o, c: c, r: r}
	if !r.isAgent() {
		b.unsure("no trace of the run holds a model call, a tool call or an agent: " + cmp.Or(r.whole.Remedy(trajectory.FactModelCalls), noTrace))
		return b.judgement()
	}
	b.nevers()
	b.liveness()
	b.budget()
	b.trajectory()
	b.state()
	b.response()
	b.criteria()
	b.outage()
	return b.judgement()
}

const noTrace = "point the agent's exporter at pawl (OTEL_EXPORTER_OTLP_ENDPOINT) and flush it before the process ends"

// run is what is judged: the traces, each as the session knows it, and the session; of a single trace they are the same.
type run struct {
	parts []*trajectory.Trajectory
	whole *trajectory.Trajectory
}

func (o *Oracle) runOf(traces []*trajectory.Trajectory) *run {
	var own []*trajectory.Trajectory
	for _, t := range traces {
		if t == nil {
			continue
		}
		if o.Prices != nil {
			t = t.Clone()
			o.Prices.Fill(t)
		}
		own = append(own, t)
	}
	if len(own) == 0 {
		return nil
	}
	r := &run{parts: own, whole: own[0]}
	if len(own) > 1 {
		r.whole = trajectory.Join(own)
	}
	if r.whole.Traces == nil {
		r.parts = []*trajectory.Trajectory{r.whole} // the same trace, given more than once
		return r
	}
	slices.SortStableFunc(r.parts, func(a, b *trajectory.Trajectory) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.TraceID, b.TraceID))
	})
	r.parts = slices.CompactFunc(r.parts, func(a, b *trajectory.Trajectory) bool { return a.TraceID == b.TraceID })
	for i, t := range r.parts {
		r.parts[i] = r.whole.Settle(t)
	}
	return r
}

func (r *run) isAgent() bool {
	return slices.ContainsFunc(r.parts, (*trajectory.Trajectory).IsAgent)
}

// bench collects what is said of one run.
type bench struct {
	o *Oracle
	c *regcase.Case
	r *run

	failed, broken, open []string // sentences, by what they make of the verdict
	mismatches           []match.Mismatch
	findings             []classify.Finding
	notes                []string
	errored              bool // the run ended in an error, which is among failed
	meaning              bool // the Embedder was asked
}

// fails notes what was expected and not so, with the sentence that tells it.
func (b *bench) fails(why string, m match.Mismatch) {
	b.failed = append(b.failed, why)
	b.mismatches = append(b.mismatches, m)
}

func (b *bench) unsure(why string) { b.open = append(b.open, why) }

func (b *bench) note(text string) {
	if !slices.Contains(b.notes, text) {
		b.notes = append(b.notes, text)
	}
}

// answer takes over what a matcher said of a part of expect.
func (b *bench) answer(part string, a match.Answer) {
	for _, m := range a.Mismatches {
		m.Field = part + strings.TrimSuffix("."+m.Field, ".")
		b.fails(part+": expected "+m.Expected+", got "+m.Got, m)
	}
	for _, why := range a.Undecided {
		b.unsure(part + ": " + why)
	}
}

// judgement adds it up.
func (b *bench) judgement() Judgement {
	j := Judgement{Verdict: Pass, Mismatches: b.mismatches, Findings: b.findings, Notes: b.notes, Meaning: b.meaning}
	for _, of := range []struct {
		verdict Verdict
		why     []string
	}{{Fail, b.failed}, {Error, b.broken}, {Inconclusive, b.open}} {
		switch {
		case len(of.why) == 0:
		case j.Verdict == Pass:
			j.Verdict, j.Reason = of.verdict, first(of.why)
		default:
			j.Notes = append(j.Notes, of.why...)
		}
	}
	return j
}

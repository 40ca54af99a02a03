package rule

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// SilentParams are the thresholds of the rule silent_timeout.
type SilentParams struct {
	GapSeconds   float64 `json:"gap_seconds"`   // with no call of a model or a tool under way
	StallSeconds float64 `json:"stall_seconds"` // of one model call, below MinRate
	MinRate      float64 `json:"min_rate"`      // output tokens a second
}

// Validate refuses thresholds that would match every pause.
func (p SilentParams) Validate() error {
	if p.GapSeconds < 1 || p.StallSeconds < 1 || p.MinRate < 0 {
		return errors.New("want gap_seconds >= 1, stall_seconds >= 1 and min_rate >= 0")
	}
	return nil
}

// SilentTimeout finds waits that nobody ended as they should have: a call that timed out or was aborted, one that never ended, a stretch in
// which nothing was under way.
var SilentTimeout = add(classify.Rule{
	Name: "silent_timeout", Version: 2, Label: classify.SilentTimeout, Severity: classify.Warning, Form: classify.FormFault,
	Doc: classify.Doc{
		Title: "the run waited for something that never came",
		Why: "Nothing raises an alarm: the call hangs, the run is aborted or goes on without it. Decided by what timeouts say of themselves, in an error or as a whole result; by a call whose " +
			"span began and never ended while the run went on for long, or stopped there; by a stretch with no call under way, after which the agent goes on; and by a model call that took " +
			"very long for few tokens. What waits for a person is left out, so is a tool that takes long and ends well, and a call that was tried again and went well is information. " +
			"Without a real clock only words tell.",
		Fix:     "Give every call a deadline shorter than the run's, handle its error, and tell the user what is not known.",
		Example: "get_order hangs, the run is aborted after 30 s, and nobody learns why",
	},
	Params:  SilentParams{GapSeconds: 60, StallSeconds: 600, MinRate: 0.5},
	Check:   checkSilent,
	Repairs: []classify.Repair{answeredWell(), providerWell(), endedModel(), noWait()},
})

func checkSilent(in *classify.Input) classify.Result {
	t := in.Trajectory
	res := outsideResult(in, classify.SilentTimeout, func(b blow, n int) string {
		switch {
		case b.tool >= 0:
			return fmt.Sprintf("%s gave no answer in time %s: %s%s.", b.name, times(n), b.says(), b.ending())
		case b.model >= 0:
			return fmt.Sprintf("a model call of %s gave no answer in time %s: %s%s.", b.name, times(n), b.says(), b.ending())
		}
		return fmt.Sprintf("%s was given up without an answer: %s.", b.name, b.says())
	})
	found := res.Findings
	if t.Complete.SyntheticTime && len(found) == 0 {
		return classify.Blind(trajectory.FactClock, "")
	}
	never, unsure := neverEnded(in)
	found = append(found, never...)
	if !t.Complete.SyntheticTime {
		found = append(found, gaps(in)...)
		found = append(found, stalls(in)...)
	}
	switch {
	case len(found) > 0:
		return classify.Match(merged(found)...)
	case unsure:
		return classify.Blind(trajectory.FactWhole, "a span began and its end never came: whether the call hung, or the sender lost the end, is not in the data")
	case res.Missing != "":
		return res
	case openEnd(t):
		return classify.Blind(trajectory.FactToolExecution, "")
	}
	return res
}

// openEnd says that the run ended, without a reply, on a request whose execution nobody records: it may have hung there.
func openEnd(t *trajectory.Trajectory) bool {
	n := len(t.ToolCalls)
	if n == 0 || t.Reply != nil || t.GoesOn {
		return false
	}
	c := &t.ToolCalls[n-1]
	return c.Outcome == trajectory.OutcomeUnknown && !c.HasResult
}

// waitsForPerson matches tools that are there to wait: for a person, or for time to pass.
var waitsForPerson = regexp.MustCompile(`(?i)human|ask[_-]?(the[_-]?)?user|user[_-]?(input|question|response|confirm)|approv|confirm|elicit|clarif|interrupt|\bpause|sleep|wait|request[_-]?(input|feedback|review)|handover|escalat`)

// neverEnded finds calls that began, have no result, and whose span never ended. One after which the agent went on at once may run in the
// background, or its end was lost: of that the second value tells.
func neverEnded(in *classify.Input) (out []classify.Finding, unsure bool) {
	t := in.Trajectory
	if t.Complete.Truncated || t.GoesOn || t.Complete.SyntheticTime {
		return nil, false
	}
	patience := seconds(classify.ParamsOf[SilentParams](in).GapSeconds)
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		if !c.Executed || !c.End.IsZero() || c.Start.IsZero() || c.HasResult || c.Error != nil || pseudo(c.Name) || waitsForPerson.MatchString(c.Name) ||
			c.Outcome != trajectory.OutcomeUnknown && c.Outcome != trajectory.OutcomeMissing {
			continue
		}
		next, goes := nextOf(t, c.Agent, c.Start, c.Model)
		if goes && next.Sub(c.Start) < patience {
			unsure = true
			continue
		}
		f := in.Finding(c.Agent, classify.Name("tool", c.Name))
		f.Step, f.Confidence = stepOf(t, trajectory.StepTool, i), 0.75
		out = append(out, hung(f, classify.SafeName(c.Name), c.SpanID, next.Sub(c.Start), goes))
	}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		if !m.End.IsZero() || m.Start.IsZero() || m.Error != nil || m.Text != "" || len(m.ToolCalls) > 0 || m.FinishReason != "" || m.Usage.Output != nil {
			continue
		}
		next, goes := nextOf(t, m.Agent, m.Start, i)
		if goes && next.Sub(m.Start) < patience {
			unsure = true
			continue
		}
		name := modelFamily(nameOf(m))
		f := in.Finding(m.Agent, classify.Name("model", name))
		f.Step, f.Confidence = stepOf(t, trajectory.StepModel, i), 0.7
		out = append(out, hung(f, "the call of "+firstOf(classify.SafeName(name), "the model"), m.SpanID, next.Sub(m.Start), goes))
	}
	return out, unsure
}

func hung(f classify.Finding, name, span string, waited time.Duration, goes bool) classify.Finding {
	f.Title = name + " began and never ended"
	f.Why = fmt.Sprintf("%s began, its span never ended, no result of it is anywhere, and the run stopped there.", name)
	f.Evidence = []classify.Evidence{{SpanID: span, What: name + " began here; the span has no end"}}
	if goes {
		f.Confidence += 0.1
		f.Why = fmt.Sprintf("%s began, its span never ended, no result of it is anywhere, and the agent went on %s later as if nothing had been.", name, spell(waited))
	}
	return f
}

// nextOf is when the agent made its next model call after a moment, other than the one that asked.
func nextOf(t *trajectory.Trajectory, agent string, from time.Time, asked int) (time.Time, bool) {
	for i := max(asked+1, 0); i < len(t.ModelCalls); i++ {
		if m := &t.ModelCalls[i]; m.Agent == agent && m.Start.After(from) {
			return m.Start, true
		}
	}
	return from, false
}

// gaps finds stretches in which no call was under way, between two calls of which the second is the agent's going on. It abstains where the
// stretch may be work that nobody records (a tool without a span, the wait before another try), a person's time, or usual for the route.
func gaps(in *classify.Input) []classify.Finding {
	t := in.Trajectory
	least := seconds(classify.ParamsOf[SilentParams](in).GapSeconds)
	if st := in.Baseline.Stats(baseline.KeyOf(t), baseline.Duration); st.N >= 20 {
		least = max(least, seconds(st.Median))
	}
	if t.Telemetry.Skewed > 0 {
		return nil
	}
	var out []classify.Finding
	var until time.Time // the latest end so far
	last := -1          // the step that ended then
	for i, s := range t.Steps {
		if s.Kind != trajectory.StepModel && s.Kind != trajectory.StepTool && s.Kind != trajectory.StepRetrieval {
			continue
		}
		if last >= 0 && s.Start.Sub(until) >= least && s.Kind == trajectory.StepModel && quiet(t, last, i) {
			out = append(out, gapFinding(in, last, i, s.Start.Sub(until)))
		}
		if end := endOf(s); last < 0 || end.After(until) {
			until, last = end, i
		}
	}
	return out
}

// endOf is when a step ended; one that never did, or is a request without an execution, ends as it begins.
func endOf(s trajectory.Step) time.Time {
	if s.End.After(s.Start) {
		return s.End
	}
	return s.Start
}

// quiet says that the time between two steps is nobody's: no user spoke, no request was open, nothing failed or waits.
func quiet(t *trajectory.Trajectory, from, to int) bool {
	for _, s := range t.Steps[from+1 : to] {
		if s.Kind != trajectory.StepModel && s.Kind != trajectory.StepTool && s.Kind != trajectory.StepRetrieval {
			return false // a user spoke, a turn ended, another agent took over
		}
	}
	switch s := t.Steps[from]; s.Kind {
	case trajectory.StepTool:
		if c := &t.ToolCalls[s.Index]; c.End.IsZero() || classify.Failed(c) || waitsForPerson.MatchString(c.Name) {
			return false
		}
	case trajectory.StepModel:
		if m := &t.ModelCalls[s.Index]; m.End.IsZero() || m.Error != nil {
			return false // it goes on, or the wait was before another try
		}
		if heardOfWork(&t.ModelCalls[t.Steps[to].Index]) {
			return false
		}
	}
	asked := lastModelBefore(t, to)
	return asked < 0 || !slices.ContainsFunc(t.ModelCalls[t.Steps[asked].Index].ToolCalls, func(i int) bool {
		return t.ToolCalls[i].End.IsZero() && !pseudo(t.ToolCalls[i].Name)
	})
}

// heardOfWork says that a model call, right after another one, is told what came of something: code that the agent ran, a tool without a span.
func heardOfWork(m *trajectory.ModelCall) bool {
	return slices.ContainsFunc(m.New, func(x trajectory.Message) bool { return x.Role == "tool" })
}

// lastModelBefore is the step of the last model call before a step, -1 for none.
func lastModelBefore(t *trajectory.Trajectory, step int) int {
	for i := step - 1; i >= 0; i-- {
		if t.Steps[i].Kind == trajectory.StepModel {
			return i
		}
	}
	return -1
}

func gapFinding(in *classify.Input, from, to int, wait time.Duration) classify.Finding {
	t := in.Trajectory
	m := &t.ModelCalls[t.Steps[to].Index]
	name := modelFamily(nameOf(m))
	part := classify.Name("model", name)
	before := "a model call"
	if s := t.Steps[from]; s.Kind == trajectory.StepTool {
		part = classify.Name("tool", t.ToolCalls[s.Index].Name)
		before = "the call of " + classify.SafeName(t.ToolCalls[s.Index].Name)
	}
	f := in.Finding(m.Agent, part)
	f.Step, f.Confidence = to, 0.65
	f.Title = fmt.Sprintf("nothing under way for %s", spell(wait))
	f.Why = fmt.Sprintf("for %s after %s no call of a model or a tool was under way, no user spoke, and then the agent went on as if nothing had been.", spell(wait), before)
	f.Evidence = []classify.Evidence{{SpanID: t.Steps[from].SpanID, What: "the last that ended before the wait"}, {SpanID: m.SpanID, What: "went on " + spell(wait) + " later"}}
	return f
}

// stalls finds model calls that took very long for what they said.
func stalls(in *classify.Input) []classify.Finding {
	t, p := in.Trajectory, classify.ParamsOf[SilentParams](in)
	var out []classify.Finding
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		took := m.End.Sub(m.Start)
		if m.End.IsZero() || m.Error != nil || m.Sum || took < seconds(p.StallSeconds) || m.Usage.Output == nil || float64(*m.Usage.Output) >= p.MinRate*took.Seconds() {
			continue
		}
		name := modelFamily(nameOf(m))
		f := in.Finding(m.Agent, classify.Name("model", name))
		f.Step, f.Confidence = stepOf(t, trajectory.StepModel, i), 0.7
		f.Title = fmt.Sprintf("a call of %s took %s for %d tokens", firstOf(classify.SafeName(name), "the model"), spell(took), *m.Usage.Output)
		f.Why = fmt.Sprintf("a call of %s took %s to give %d tokens, and ended as if nothing had been: it hung, or was tried again where nobody sees it.",
			firstOf(classify.SafeName(name), "the model"), spell(took), *m.Usage.Output)
		f.Evidence = []classify.Evidence{{SpanID: m.SpanID, What: fmt.Sprintf("%s for %d output tokens, without an error", spell(took), *m.Usage.Output)}}
		out = append(out, f)
	}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// spell writes a duration as a person says it: 90 s, 12 min.
func spell(d time.Duration) string {
	if d < 10*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// endedModel repairs a model call that never ended, or took very long: it answered at once.
func endedModel() classify.Repair {
	return change.Repair("answer-at-once", "the model answered at once", func(t *trajectory.Trajectory, f classify.Finding) bool {
		if f.Step < 0 || f.Step >= len(t.Steps) || t.Steps[f.Step].Kind != trajectory.StepModel || strings.HasPrefix(f.Title, "nothing under way") {
			return false
		}
		m := &t.ModelCalls[t.Steps[f.Step].Index]
		if m.Error != nil {
			return false
		}
		m.FinishReason, m.FinishRaw = trajectory.FinishStop, "stop"
		m.End = m.Start.Add(time.Second)
		t.Steps[f.Step].End = m.End
		return true
	})
}

// noWait repairs a stretch in which nothing was under way: what came after it comes at once.
func noWait() classify.Repair {
	return change.Repair("no-wait", "what came after the wait came at once", func(t *trajectory.Trajectory, f classify.Finding) bool {
		if f.Step < 0 || f.Step >= len(t.Steps) || !strings.HasPrefix(f.Title, "nothing under way") {
			return false
		}
		var until time.Time
		from := t.Steps[f.Step].Start
		for _, s := range t.Steps[:f.Step] {
			if end := endOf(s); end.After(until) {
				until = end
			}
		}
		if until.IsZero() || !from.After(until) {
			return false
		}
		shiftFrom(t, from, until.Sub(from)+time.Second)
		return true
	})
}

// shiftFrom moves everything that is not before a moment.
func shiftFrom(t *trajectory.Trajectory, from time.Time, by time.Duration) {
	eachTime(t, func(at time.Time) time.Time {
		if at.Before(from) {
			return at
		}
		return at.Add(by)
	})
}

// eachTime replaces every time of a trajectory that is known.
func eachTime(t *trajectory.Trajectory, other func(time.Time) time.Time) {
	set := func(times ...*time.Time) {
		for _, at := range times {
			if !at.IsZero() {
				*at = other(*at)
			}
		}
	}
	set(&t.Start, &t.End)
	for i := range t.ModelCalls {
		set(&t.ModelCalls[i].Start, &t.ModelCalls[i].End)
	}
	for i := range t.ToolCalls {
		set(&t.ToolCalls[i].Start, &t.ToolCalls[i].End)
	}
	for i := range t.Handoffs {
		set(&t.Handoffs[i].Start)
	}
	for i := range t.Steps {
		set(&t.Steps[i].Start, &t.Steps[i].End)
	}
}

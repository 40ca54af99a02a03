package classify

import (
	"cmp"
	"slices"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// One failure often shows in several ways: an agent calls a tool that does not exist, calls it again and again, runs up a bill, and says in the end
// that all went well. The first of these is what has to be mended, and the others are gone with it. So the findings of a trace are put in the
// order of decisive, and each is taken for a consequence of the first one before it that it follows; what follows nothing is a root. The primary
// label is that of the first root, and the others are failures of their own.
//
// A team's own rule never explains away what a rule of pawl's found; the other way round it may.
//
// A consequence opens no group and becomes no case. Hence a finding never is one of a lesser finding: not of a less severe one, nor of one that is
// less sure than sureEnough and than itself, for then that one may not become a case either.

// sureEnough is the confidence from which a finding may explain one that is surer.
const sureEnough = 0.85

// settle marks the consequences among the findings, which must be sorted, and sets the primary label.
func (r *Report) settle(t *trajectory.Trajectory) {
	order := make([]int, len(r.Findings))
	for i := range r.Findings {
		order[i], r.Findings[i].Because = i, nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(decisive(r.Findings[a]), decisive(r.Findings[b])) })
	r.Primary = nil
	places := make([]place, len(r.Findings))
	for i, f := range r.Findings {
		places[i] = placeOf(t, f)
	}
	for n, i := range order {
		f := &r.Findings[i]
		for _, j := range order[:n] {
			if g := &r.Findings[j]; f.follows(*g, places[i], places[j]) {
				f.Because = cmp.Or(g.Because, new(g.Fingerprint.ID()))
				break
			}
		}
		if f.Because == nil && r.Primary == nil && matters(*f) {
			r.Primary = new(f.Label)
		}
	}
}

// decisive orders findings by what tells most of where it went wrong: blocking before warnings, what the agent did before what was only measured
// of the run, and what the outside did to it last. Of equals the earlier step counts, as findings are sorted already.
func decisive(f Finding) int {
	rank := 0
	switch {
	case f.Severity == Info:
		return 6
	case f.Label.outside():
		rank = 4
	case f.Severity == Warning:
		rank = 2
	}
	if f.Severity == Warning && f.Label.outside() || f.Label.measured() {
		rank++
	}
	return rank
}

// measured says whether a label is known from numbers of the run or of its surroundings: whatever the agent did comes before it.
func (l Label) measured() bool {
	return l == CostSpike || l == LatencySpike || l == ModelDrift || l == BindingDrift
}

// resulting says whether a label may be what another failure led to. The others are decisions of the agent's: one is a consequence of another
// only if both are the same call.
func (l Label) resulting() bool {
	switch l {
	case Loop, UnsafeRetry, FabricatedSuccess, MissingReadback, HallucinatedData, ContextOverflow, OutputViolation, TruncatedOutput, EmptyResponse,
		MissingToolResult, ProtocolError, CostSpike, LatencySpike:
		return true
	}
	return l.outside()
}

// place is where in the trajectory a finding stands.
type place struct {
	step  int   // len(Steps) for the whole trace
	turn  int   // number of user messages before the step; -1 for the whole trace
	calls []int // tool calls
	tools []string
}

func placeOf(t *trajectory.Trajectory, f Finding) place {
	p := place{step: len(t.Steps), turn: -1}
	if f.Label.measured() {
		return p // of the whole run, wherever the limit was passed
	}
	if f.Step >= 0 && f.Step < len(t.Steps) {
		p.step, p.turn = f.Step, 0
		for i, s := range t.Steps[:f.Step] {
			if s.Kind == trajectory.StepUser && (i == 0 || t.Steps[i-1].Kind != trajectory.StepUser) {
				p.turn++
			}
		}
		if s := t.Steps[f.Step]; s.Kind == trajectory.StepTool {
			p.calls = append(p.calls, s.Index)
		}
	}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		own := c.SpanID != "" && c.SpanID != c.RequestSpanID // the span of its request may be that of other calls too
		if own && !slices.Contains(p.calls, i) && slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.SpanID == c.SpanID }) {
			p.calls = append(p.calls, i)
		}
	}
	if tool := f.Fingerprint.Part("tool"); tool != "" {
		p.tools = append(p.tools, tool) // it may stand on the model call that names the tool
	}
	for _, i := range p.calls {
		p.tools = append(p.tools, SafeName(t.ToolCalls[i].Name))
	}
	return p
}

// follows says whether f, which is at a, is a consequence of g, which is at b and more decisive.
func (f Finding) follows(g Finding, a, b place) bool {
	if f.Severity.rank() > g.Severity.rank() || g.Confidence < min(sureEnough, f.Confidence) || g.Severity == Info {
		return false
	}
	if g.Label.own() && !f.Label.own() {
		return false // a team's rule says what it likes, and a broad one would take every failure off the list
	}
	if common(a.calls, b.calls) {
		return true
	}
	if f.Label == g.Label || !f.Label.resulting() || g.Label.outside() {
		return false
	}
	if a.turn >= 0 && b.turn >= 0 && a.turn != b.turn {
		return false
	}
	if f.Label.outside() {
		return true // what the outside did is part of what the agent made of it
	}
	return a.step >= b.step && (len(a.tools) == 0 || len(b.tools) == 0 || common(a.tools, b.tools))
}

func common[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

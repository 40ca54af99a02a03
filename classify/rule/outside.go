package rule

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/effect"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// blow is one place where the outside failed the run: a call of a tool, a call of a model, or the run as a whole where no call tells.
type blow struct {
	sign
	tool, model int // index of the call; -1 for none
	agent       string
	part        classify.Part // who it was: tool, or provider
	name        string        // the same for sentences
	span        string
	step        int
	over        bool // the run got over it: a later call of the same kind went well
	byOther     bool // that was one of another tool
}

// label is the failure that a blow is. A provider that does not know the caller fails every run alike, whatever the agent wanted: that is the
// provider's failure and no refusal of what was asked for.
func (b blow) label() classify.Label {
	switch b.is {
	case refused:
		return classify.PermissionDenied
	case unauthenticated:
		if b.tool >= 0 {
			return classify.PermissionDenied
		}
		return classify.UpstreamError
	case timedOut, aborted:
		return classify.SilentTimeout
	case badProtocol:
		return classify.ProtocolError
	}
	return classify.UpstreamError
}

// trials are what the outside did to a run, in order of steps.
type trials []blow

func trialsOf(in *classify.Input) trials { return blows(in.Trajectory) }

// blows lists what the outside did to the run, in order of steps.
func blows(t *trajectory.Trajectory) trials {
	var out trials
	for i := range t.ToolCalls {
		if s, ok := toolSign(&t.ToolCalls[i]); ok && !answeredBefore(t, i) {
			out = append(out, blowOfTool(t, i, s))
		}
	}
	for i := range t.ModelCalls {
		if s, ok := modelSign(&t.ModelCalls[i]); ok {
			out = append(out, blowOfModel(t, i, s))
		}
	}
	out = slices.DeleteFunc(out, func(b blow) bool { return handedUp(t, b, out) })
	if b, ok := blowOfRun(t, out); ok {
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b blow) int { return cmp.Compare(uint(a.step), uint(b.step)) })
	return out
}

// modelSign is what the error of a model call says of the outside. An input that does not fit is the agent's own doing.
func modelSign(m *trajectory.ModelCall) (sign, bool) {
	if m.Error == nil || speaker(tooLong, m.Error.Type+" "+m.Error.Message) != "" {
		return sign{}, false
	}
	return readError(m.Error)
}

// answeredBefore says that an earlier trace has told of the call's answer: of the calls of a history only the last was answered just now.
func answeredBefore(t *trajectory.Trajectory, i int) bool {
	return t.ToolCalls[i].Recalled && slices.ContainsFunc(t.ToolCalls[i+1:], func(o trajectory.ToolCall) bool { return o.Recalled })
}

func blowOfTool(t *trajectory.Trajectory, i int, s sign) blow {
	c := &t.ToolCalls[i]
	at := slices.IndexFunc(t.ToolCalls[i+1:], func(o trajectory.ToolCall) bool {
		if o.Agent != c.Agent || !(o.Name == c.Name && insteadOf(&o, c) || s.outage() && fallback(t, &o, c)) {
			return false
		}
		_, bad := toolSign(&o)
		return !bad && (o.Outcome == trajectory.OutcomeOK || o.Outcome == trajectory.OutcomeError && s.is == timedOut)
	})
	return blow{sign: s, tool: i, model: -1, agent: c.Agent, part: classify.Name("tool", c.Name), name: ranBy(c),
		span: firstOf(c.ResultSpanID, c.SpanID), step: stepOf(t, trajectory.StepTool, i), over: at >= 0, byOther: at >= 0 && t.ToolCalls[i+1+at].Name != c.Name}
}

// insteadOf says that a later call of the same tool asks for what the failed one asked for: with equal arguments; or with other ones, where they are
// words, paths, addresses or commands, of which another may do as well. An order's number is not made up for by another order's. A dispatcher
// must have been asked to run the same tool.
func insteadOf(later, failed *trajectory.ToolCall) bool {
	a, b := failed.Arguments.JSON, later.Arguments.JSON
	if a == nil || b == nil || bytes.ContainsAny(a, " /") {
		return behind(failed) == behind(later)
	}
	return steady(a, false) == steady(b, false)
}

// outage says that the service could not, rather than would not.
func (s sign) outage() bool {
	return s.is == down || s.is == throttled || s.is == unreachable || s.is == timedOut
}

// fallback says that a call of another tool is the same request to another service: asked for later, with equal arguments, for a thing of the same
// name, and answered with more than an error or nothing, as quote_backup after quote_primary.
func fallback(t *trajectory.Trajectory, later, failed *trajectory.ToolCall) bool {
	a, b := failed.Arguments.JSON, later.Arguments.JSON
	if later.Name == failed.Name || later.Model <= failed.Model || later.Outcome != trajectory.OutcomeOK || classify.VainOf(later) != classify.NotVain || len(a) < 5 || len(b) < 5 || steady(a, false) != steady(b, false) {
		return false
	}
	things := effect.ToolOf(t, nil, later).Objects
	return slices.ContainsFunc(effect.ToolOf(t, nil, failed).Objects, func(w string) bool { return slices.Contains(things, w) })
}

// behindKey is an argument by which dispatchers are told which tool to run.
var behindKey = regexp.MustCompile(`"(?:tool_name|toolName|tool|function_name|action_name)":"([^"]{1,100})"`)

// behind is the tool that a dispatcher was asked to run, "" for a tool that runs itself.
func behind(c *trajectory.ToolCall) string {
	if m := behindKey.FindSubmatch(c.Arguments.JSON); m != nil {
		return string(m[1])
	}
	return ""
}

// handsOn is an argument by which a dispatcher is given the arguments of the tool that it is to run.
var handsOn = regexp.MustCompile(`"(?:params|parameters|arguments|args|kwargs|input|tool_input|tool_args|toolArgs|tool_arguments|payload)":[{"]`)

// ranBy names a call's tool for sentences. Of a dispatcher's other calls, which run other tools, nothing is said.
func ranBy(c *trajectory.ToolCall) string {
	name := classify.SafeName(c.Name)
	if inner := behind(c); inner != "" && handsOn.Match(c.Arguments.JSON) {
		return classify.SafeName(inner) + " (run by " + name + ")"
	}
	return name
}

func blowOfModel(t *trajectory.Trajectory, i int, s sign) blow {
	m := &t.ModelCalls[i]
	by := providerOf(m)
	return blow{sign: s, tool: -1, model: i, agent: m.Agent, part: classify.Name("provider", by), name: classify.SafeName(by),
		span: m.SpanID, step: stepOf(t, trajectory.StepModel, i), over: wellAfter(t, i)}
}

// wellAfter says that the run got over a model call that failed: its agent made another one that went well, or somebody did and the run ended
// with a reply.
func wellAfter(t *trajectory.Trajectory, i int) bool {
	replied := t.RootError == nil && t.Reply != nil && strings.TrimSpace(*t.Reply) != ""
	return slices.ContainsFunc(t.ModelCalls[i+1:], func(o trajectory.ModelCall) bool {
		return o.Error == nil && !o.End.IsZero() && (o.Agent == t.ModelCalls[i].Agent || replied)
	})
}

func providerOf(m *trajectory.ModelCall) string {
	return cmp.Or(m.Provider, modelFamily(nameOf(m)), "model")
}

// handedUp says that a tool's failure is that of a call inside of it: of a sub-agent's model, or of another tool.
func handedUp(t *trajectory.Trajectory, b blow, all []blow) bool {
	if b.tool < 0 {
		return false
	}
	outer := &t.ToolCalls[b.tool]
	return !outer.End.IsZero() && slices.ContainsFunc(all, func(o blow) bool {
		if o.is != b.is || o.span == b.span || o.tool == b.tool && o.model == b.model {
			return false
		}
		start, end := spanOf(t, o)
		return start.After(outer.Start) && !end.IsZero() && end.Before(outer.End)
	})
}

// blowOfRun reads the error with which the run ended, where no call tells of it. It is laid to the call that it ended: the last model call if that
// failed without a word, the last tool call if nothing answered it.
func blowOfRun(t *trajectory.Trajectory, known []blow) (blow, bool) {
	if t.RootError == nil || speaker(tooLong, t.RootError.Type+" "+t.RootError.Message) != "" {
		return blow{}, false
	}
	s, ok := readError(t.RootError)
	if !ok {
		return blow{}, false
	}
	at := blow{sign: s, tool: -1, model: -1}
	if slices.ContainsFunc(known, func(b blow) bool { return !b.over || b.is == s.is }) {
		return blow{}, false // the call that failed is why the run did
	}
	if slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return classify.Failed(&c) && copied(c.Error, t.RootError) }) {
		return blow{}, false // a tool's own failure, which was judged there
	}
	last := len(t.ModelCalls) - 1
	if last >= 0 && t.ModelCalls[last].Error != nil {
		if _, own := readError(t.ModelCalls[last].Error); !own {
			return blowOfModel(t, last, s), true
		}
	}
	if i := len(t.ToolCalls) - 1; i >= 0 && (s.is == timedOut || s.is == aborted) {
		if c := &t.ToolCalls[i]; !c.HasResult && !c.Recalled && (c.Outcome == trajectory.OutcomeUnknown || c.Outcome == trajectory.OutcomeMissing) {
			return blowOfTool(t, i, s), true
		}
	}
	by := "run"
	if name := lastModel(t); name != "" {
		by = modelFamily(name)
	}
	at.part, at.name, at.step = classify.Name("provider", by), "the run", len(t.Steps)-1
	if at.step >= 0 {
		at.span = t.Steps[at.step].SpanID
	}
	return at, true
}

// copied says that the run's error is the tool's, as frameworks hand it up.
func copied(e, root *trajectory.Error) bool {
	return e != nil && e.Message != "" && strings.Contains(root.Message, e.Message)
}

// outsideResult is the answer of the rules on what a call said: findings for the blows of the label, or what was lacking to see any.
func outsideResult(in *classify.Input, label classify.Label, sentence func(blow, int) string) classify.Result {
	t := in.Trajectory
	var mine []blow
	for _, b := range classify.Shared(in, trialsOf) {
		if b.label() == label {
			mine = append(mine, b)
		}
	}
	if len(mine) > 0 {
		return classify.Match(blowFindings(in, mine, sentence)...)
	}
	return unheard(t)
}

// unheard says which fact keeps the rules from hearing of trouble; no match when nothing does.
func unheard(t *trajectory.Trajectory) classify.Result {
	_, noModels := t.Lacks(trajectory.FactModelCalls)
	_, noTools := t.Lacks(trajectory.FactToolCalls)
	switch {
	case noModels && noTools:
		return classify.Blind(trajectory.FactModelCalls, "")
	case slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool {
		return c.Outcome == trajectory.OutcomeError && mute(c.Error, c.Result)
	}):
		return classify.Blind(trajectory.FactResults, "a tool call failed and nothing says why: record the error's type and message (span status message, error.type or an exception event)")
	case t.RootError != nil && mute(t.RootError, trajectory.Value{}):
		return classify.Blind(trajectory.FactReply, "the run failed and nothing says why: record the error's type and message (span status message, error.type or an exception event)")
	case t.EndsBlank():
		return classify.Blind(trajectory.FactReply, "")
	case !t.Complete.HasRoot && t.Reply == nil && t.RootError == nil:
		return classify.Blind(trajectory.FactRoot, "")
	case len(t.ToolCalls) > 0 && !slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.HasResult || c.Error != nil || c.Executed }):
		return classify.Blind(trajectory.FactResults, "")
	}
	return classify.NoMatch()
}

// blowFindings makes one finding for each thing that failed and the way in which it did.
func blowFindings(in *classify.Input, list []blow, sentence func(blow, int) string) []classify.Finding {
	var out []classify.Finding
	var groups [][]blow
	for _, b := range list {
		i := slices.IndexFunc(groups, func(g []blow) bool {
			return g[0].agent == b.agent && g[0].part.Key == b.part.Key && g[0].name == b.name && g[0].code == b.code && g[0].is == b.is
		})
		if i < 0 {
			groups = append(groups, []blow{b})
			continue
		}
		groups[i] = append(groups[i], b)
	}
	for _, g := range groups {
		out = append(out, blowFinding(in, g, sentence))
	}
	return merged(out)
}

func blowFinding(in *classify.Input, g []blow, sentence func(blow, int) string) classify.Finding {
	worst := g[0]
	for _, b := range g {
		if worst.over && !b.over {
			worst = b
		}
	}
	parts := []classify.Part{worst.part, classify.Word("code", worst.code)}
	if worst.label() == classify.SilentTimeout {
		parts = []classify.Part{waitedFor(in.Trajectory, worst)}
	}
	f := in.Finding(worst.agent, parts...)
	f.Step, f.Confidence = g[0].step, worst.sure
	if worst.over {
		f.Severity = classify.Info
	}
	if !in.Trajectory.Complete.HasRoot && worst.tool < 0 {
		f.Confidence = min(f.Confidence, 0.75) // it may have tried again where nobody sees it
	}
	f.Title = fmt.Sprintf("%s: %s, %s", worst.name, worst.says(), times(len(g)))
	f.Why = sentence(worst, len(g))
	for _, b := range g[:min(len(g), maxEvidence)] {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: b.span, What: b.name + ": " + b.says()})
	}
	return f
}

// waitedFor is the part of a fingerprint that says what gave no answer: a tool, or a model.
func waitedFor(t *trajectory.Trajectory, b blow) classify.Part {
	switch {
	case b.tool >= 0:
		return b.part
	case b.model >= 0:
		return classify.Name("model", modelFamily(nameOf(&t.ModelCalls[b.model])))
	}
	return classify.Name("model", cmp.Or(modelFamily(lastModel(t)), "run"))
}

// ending says how it went on after a blow.
func (b blow) ending() string {
	switch {
	case b.byOther:
		return "; another tool was then called with the same arguments and went well"
	case b.over && b.tool >= 0 && b.is == timedOut:
		return "; a later call of it was answered"
	case b.over && b.tool >= 0:
		return "; a later call of it went well"
	case b.over:
		return "; a later call of a model went well"
	case b.tool >= 0:
		return ", and no later call of it went well"
	case b.model >= 0:
		return ", and no later call of a model went well"
	}
	return ", and the run ended with that"
}

// answeredWell repairs what a tool's service did: it answered. healedModel repairs what a provider did, or what ended the run.
func answeredWell() classify.Repair {
	return change.Repair("give-result", "the tool answered well", func(t *trajectory.Trajectory, f classify.Finding) bool {
		i, ok := callAt(t, f)
		if !ok {
			return false
		}
		change.Answer(t, i, `{"status":"ok"}`)
		c := &t.ToolCalls[i]
		c.Executed = true
		if c.End.IsZero() {
			c.End = c.Start
			if next := f.Step + 1; next < len(t.Steps) { // it took as long as the agent waited
				c.End = t.Steps[next].Start
			}
			t.Steps[f.Step].End = c.End
		}
		if t.RootError != nil {
			t.RootError = nil
			t.Steps = slices.DeleteFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == trajectory.StepError })
		}
		return true
	})
}

func providerWell() classify.Repair { return onlyWhere(false, change.Untroubled()) }

// notCalled repairs what a tool's service did by the call's not being made.
func notCalled() classify.Repair { return onlyWhere(true, change.WithoutCall()) }

// onlyWhere leaves a repair to the findings that stand on a tool call, or to all others.
func onlyWhere(tool bool, r classify.Repair) classify.Repair {
	heal := r.Apply
	r.Apply = func(t *trajectory.Trajectory, f classify.Finding) (*trajectory.Trajectory, bool) {
		if _, is := callAt(t, f); is != tool {
			return nil, false
		}
		return heal(t, f)
	}
	return r
}

// callAt is the tool call of the finding's step, if that is one.
func callAt(t *trajectory.Trajectory, f classify.Finding) (int, bool) {
	if f.Step < 0 || f.Step >= len(t.Steps) || t.Steps[f.Step].Kind != trajectory.StepTool {
		return 0, false
	}
	return t.Steps[f.Step].Index, true
}

// spanOf is when a blow's call began and ended.
func spanOf(t *trajectory.Trajectory, b blow) (start, end time.Time) {
	if b.model >= 0 {
		return t.ModelCalls[b.model].Start, t.ModelCalls[b.model].End
	}
	return t.ToolCalls[b.tool].Start, t.ToolCalls[b.tool].End
}

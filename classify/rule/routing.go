package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// RoutingParams say when where an agent always hands over to is where it must.
type RoutingParams struct {
	MinRuns int `json:"min_runs"` // healthy runs in which an agent handed over to one other alone, before a third one is a finding
}

// Validate refuses a number under which chance would be a rule.
func (p RoutingParams) Validate() error {
	if p.MinRuns < 5 {
		return errors.New("want min_runs >= 5")
	}
	return nil
}

// WrongRouting finds work that went to the wrong agent.
var WrongRouting = add(classify.Rule{
	Name: "wrong_subagent_routing", Version: 1, Label: classify.WrongRouting, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "the user's request went to an agent that is not for it",
		Why: "An agent without the tools or the brief for a request guesses, or sends the user on. A line of policy (route) names by a pattern which messages of the user " +
			"which agents may take: a hand-over to another one, or work of a denied one, on such a message is a failure. Where two lines match, what one of them " +
			"allows is allowed. Without a policy three things are warnings, provisional and of lower confidence: the agent that was handed the conversation hands it " +
			"straight back, having done and said nothing; it hands it straight on to one that the first could have chosen; the framework says that several " +
			"hand-overs were asked for at once. A hand-over by an agent that in all healthy runs of the route handed over to one other alone is told for information.",
		Fix:     "Sharpen the descriptions of the hand-over tools: what each agent is for, and what it is not for.",
		Example: "user: where is my parcel? -> triage hands over to billing; billing hands back to triage",
	},
	Needs:  []trajectory.Fact{trajectory.FactToolCalls},
	Params: RoutingParams{MinRuns: 40},
	Check:  checkRouting,

	Repairs: []classify.Repair{change.Repair("stay", "the hand-over was never made", stay), change.Repair("hand-to-right", "the right agent took it", handRight)},
})

func checkRouting(in *classify.Input) classify.Result {
	p := classify.ParamsOf[RoutingParams](in)
	t := in.Trajectory
	ruled := concerned(in, func(p *classify.Policy) bool { return len(p.Route) > 0 })
	var out []classify.Finding
	if ruled {
		out = append(out, misrouted(in)...)
	}
	if len(out) == 0 {
		out = append(bounced(in), several(in)...)
	}
	if len(out) == 0 {
		out = strayed(in, p)
	}
	_, deaf := t.Lacks(trajectory.FactUserMessages)
	switch {
	case len(out) > 0:
		return classify.Match(merged(out)...)
	case ruled && (deaf || len(t.UserMessages) == 0) && len(t.Handoffs) > 0:
		return classify.Blind(trajectory.FactUserMessages, "")
	case !ruled && len(t.Handoffs) > 0 && !known(in, order.Hands, p.MinRuns):
		return lacksPolicy(in, "route", p.MinRuns)
	}
	return classify.NoMatch()
}

// sameAgent compares agents' names as people and tools spell them: letters and digits alone, the word agent at their end aside.
func sameAgent(a, b string) bool { return a != "" && plainAgent(a) == plainAgent(b) }

func plainAgent(s string) string {
	s = strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s))
	return cmp.Or(strings.TrimSuffix(s, "agent"), s)
}

func names(list []string, agent string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return sameAgent(n, agent) })
}

// taking is one agent that takes the conversation: by a hand-over, or by speaking up.
type taking struct {
	from, to, span string
	step, handoff  int // handoff -1: no hand-over tells of it
}

// misrouted judges, message of the user by message, who took it.
func misrouted(in *classify.Input) []classify.Finding {
	t := in.Trajectory
	var out []classify.Finding
	for at, s := range t.Steps {
		if s.Kind != trajectory.StepUser {
			continue
		}
		lines := routes(in, s.Text)
		if len(lines) == 0 {
			continue
		}
		for _, k := range takings(t, at) {
			if line, wrong := refuses(lines, k); wrong {
				out = append(out, routeFinding(in, k, line))
				break
			}
		}
	}
	return out
}

// ruled is a line of the policy with its entry's agents.
type ruledRoute struct {
	agent string
	classify.Routing
}

// routes are the lines that match a message of the user.
func routes(in *classify.Input, text string) []ruledRoute {
	var out []ruledRoute
	for i := range in.Policy {
		p := &in.Policy[i]
		if !p.Concerns("", in.Trajectory.Service) && !slices.ContainsFunc(in.Trajectory.Agents, func(a string) bool { return p.Concerns(a, "") }) {
			continue
		}
		for _, r := range p.Route {
			if r.User != nil && r.User.MatchString(text) {
				out = append(out, ruledRoute{p.Agent, r})
			}
		}
	}
	return out
}

// takings are those between a message of the user and the next, in order: hand-overs to agents that had not worked on it yet, and agents that
// no hand-over tells of.
func takings(t *trajectory.Trajectory, user int) []taking {
	var out []taking
	worked, last := map[string]bool{}, ""
	for i := user + 1; i < len(t.Steps) && t.Steps[i].Kind != trajectory.StepUser; i++ {
		s := &t.Steps[i]
		switch s.Kind {
		case trajectory.StepHandoff:
			h := t.Handoffs[s.Index]
			if h.From != "" {
				worked[plainAgent(h.From)] = true
			}
			if h.To != "" && !worked[plainAgent(h.To)] {
				out = append(out, taking{h.From, h.To, h.SpanID, i, s.Index})
				worked[plainAgent(h.To)] = true
			}
		case trajectory.StepModel:
			if s.Agent != "" && !worked[plainAgent(s.Agent)] {
				out = append(out, taking{last, s.Agent, s.SpanID, i, -1})
				worked[plainAgent(s.Agent)] = true
			}
			last = cmp.Or(s.Agent, last)
		}
	}
	return out
}

// refuses returns the line that the taking breaks. What no hand-over tells of, such as the first agent, breaks a line only if that denies it.
func refuses(lines []ruledRoute, k taking) (ruledRoute, bool) {
	if slices.ContainsFunc(lines, func(l ruledRoute) bool { return names(l.Allow, k.to) }) {
		return ruledRoute{}, false
	}
	for _, l := range lines {
		if names(l.Deny, k.to) || k.handoff >= 0 && len(l.Allow) > 0 {
			return l, true
		}
	}
	return ruledRoute{}, false
}

func routeFinding(in *classify.Input, k taking, line ruledRoute) classify.Finding {
	f := handFinding(in, k)
	to := classify.SafeName(k.to)
	f.Confidence = 0.95
	f.Title = "the request went to " + to + ", which the policy does not let take it"
	why := "the policy lets only other agents take it"
	if names(line.Deny, k.to) {
		why = "the policy denies it to that agent"
	}
	f.Why = fmt.Sprintf("%s took a message of the user that matches a route of the policy, and %s.", to, why)
	f.Policy = &classify.Policy{Agent: line.agent, Route: []classify.Routing{line.Routing}}
	return f
}

func handFinding(in *classify.Input, k taking) classify.Finding {
	f := in.Finding(k.from, classify.Name("from", k.from), classify.Name("to", k.to))
	f.Step = k.step
	what := "handed over to " + classify.SafeName(k.to)
	if k.handoff < 0 {
		what = classify.SafeName(k.to) + " worked on it"
	}
	f.Evidence = []classify.Evidence{{SpanID: firstOf(k.span, in.Trajectory.Steps[k.step].SpanID, spanNear(in.Trajectory, k.step)), What: what}}
	return f
}

// spanNear is the span of the nearest step before one that has any.
func spanNear(t *trajectory.Trajectory, step int) string {
	for i := step; i >= 0; i-- {
		if t.Steps[i].SpanID != "" {
			return t.Steps[i].SpanID
		}
	}
	return ""
}

// bounced finds hand-overs after which the agent handed straight back, or straight on to one that the first could have chosen.
func bounced(in *classify.Input) []classify.Finding {
	t := in.Trajectory
	var out []classify.Finding
	prev := -1
	for i, s := range t.Steps {
		if s.Kind != trajectory.StepHandoff {
			continue
		}
		if prev >= 0 && idle(t, prev, i) {
			a, b := t.Handoffs[t.Steps[prev].Index], t.Handoffs[s.Index]
			if f, ok := bounce(in, a, b, prev); ok {
				out = append(out, f)
			}
		}
		prev = i
	}
	return out
}

// bounce judges two hand-overs between which nothing was done.
func bounce(in *classify.Input, a, b trajectory.Handoff, step int) (classify.Finding, bool) {
	t := in.Trajectory
	if !sameAgent(a.To, b.From) || a.From == "" || sameAgent(b.To, b.From) || sameAgent(a.From, a.To) {
		return classify.Finding{}, false
	}
	f := handFinding(in, taking{a.From, a.To, a.SpanID, step, t.Steps[step].Index})
	f.Severity = classify.Warning
	from, to, next := classify.SafeName(a.From), classify.SafeName(a.To), classify.SafeName(b.To)
	switch {
	case sameAgent(b.To, a.From):
		f.Confidence = 0.7
		f.Title = from + " handed over to " + to + ", which handed straight back"
		f.Why = fmt.Sprintf("provisional: %s handed the conversation to %s, and %s handed it back at once, having called no other tool and said nothing.", from, to, to)
	case couldChoose(t, a.From, b.To):
		f.Confidence = 0.6
		f.Title = from + " handed over to " + to + ", which handed straight on to " + next
		f.Why = fmt.Sprintf("provisional: %s handed the conversation to %s, which handed it on to %s at once; %s could have chosen %s itself.", from, to, next, from, next)
	default:
		return classify.Finding{}, false
	}
	f.Evidence = append(f.Evidence, classify.Evidence{SpanID: firstOf(b.SpanID, spanNear(t, step)), What: to + " handed over to " + next})
	return f, true
}

// idle says that between two hand-overs exactly one model call was made, that it asked for hand-overs alone and said nothing, and that nobody else
// spoke.
func idle(t *trajectory.Trajectory, from, to int) bool {
	models := 0
	by := t.Handoffs[t.Steps[to].Index].From
	for _, s := range t.Steps[from+1 : to] {
		switch s.Kind {
		case trajectory.StepModel:
			m := &t.ModelCalls[s.Index]
			models++
			if strings.TrimSpace(m.Text) != "" || m.Agent != "" && !sameAgent(m.Agent, by) || len(m.ToolCalls) == 0 {
				return false
			}
		case trajectory.StepTool:
			if !handoff(t.ToolCalls[s.Index].Name) && !pseudoHandoff(t.ToolCalls[s.Index].Name) {
				return false
			}
		case trajectory.StepUser, trajectory.StepReply, trajectory.StepRetrieval, trajectory.StepError:
			return false
		}
	}
	return models == 1
}

func pseudoHandoff(name string) bool {
	n := strings.ToLower(name)
	return n == "transfer_to_agent" || n == "handoff_to_agent" || n == "transfer" || n == "handoff"
}

// couldChoose says that an agent was offered a tool that hands over to another.
func couldChoose(t *trajectory.Trajectory, agent, to string) bool {
	for _, m := range t.ModelCalls {
		if !sameAgent(m.Agent, agent) || m.Offered == nil {
			continue
		}
		for _, d := range m.Offered.Tools {
			for _, p := range handoffPrefixes {
				if rest, ok := strings.CutPrefix(strings.ToLower(d.Name), p); ok && sameAgent(rest, to) {
					return true
				}
			}
		}
	}
	return false
}

// severalAtOnce are the words by which frameworks say that a turn asked for several hand-overs.
var severalAtOnce = []says{
	wording("OpenAI Agents", `multiple handoffs (requested|detected)`),
	wording("a framework", `(multiple|several|more than one) (handoffs?|hand-offs?|hand-overs?|agent transfers?|transfers? to agents?)\b.{0,60}(not (allowed|supported)|ignor|only (one|the first))`),
}

// several finds calls that the framework says were one of several hand-overs asked for at once.
func several(in *classify.Input) []classify.Finding {
	t := in.Trajectory
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		text := c.Result.Raw
		if c.Error != nil {
			text = c.Error.Message + " " + text
		}
		if !handoff(c.Name) && !pseudoHandoff(c.Name) {
			continue
		}
		who := speaker(severalAtOnce, text)
		if who == "" {
			continue
		}
		f := in.Finding(c.Agent, classify.Name("from", c.Agent), classify.Word("to", "several"))
		f.Step, f.Severity, f.Confidence = stepOf(t, trajectory.StepTool, i), classify.Warning, 0.8
		f.Title = "several hand-overs asked for in one turn"
		f.Why = fmt.Sprintf("one turn of %s asked for several hand-overs at once, of which one alone can be: the words of %s.", cmp.Or(classify.SafeName(c.Agent), "the agent"), who)
		f.Evidence = []classify.Evidence{{SpanID: callSpan(c), What: "one of several hand-overs, in the words of " + who}}
		return []classify.Finding{f}
	}
	return nil
}

// strayed finds a hand-over to another agent than the one that was the only one in all healthy runs of the route.
func strayed(in *classify.Input, p RoutingParams) []classify.Finding {
	t, key := in.Trajectory, baseline.KeyOf(in.Trajectory)
	if in.Baseline.Runs(key) < p.MinRuns {
		return nil
	}
	for i, s := range t.Steps {
		if s.Kind != trajectory.StepHandoff {
			continue
		}
		h := t.Handoffs[s.Index]
		for _, l := range in.Baseline.Invariants(key, order.Hands, h.From) {
			if l.Runs < p.MinRuns || sameAgent(l.By, h.To) || h.To == "" {
				continue
			}
			f := handFinding(in, taking{h.From, h.To, h.SpanID, i, s.Index})
			f.Severity, f.Confidence = classify.Info, 0.55
			f.Title = classify.SafeName(h.From) + " handed over to " + classify.SafeName(h.To) + ", which no run of the route does"
			f.Why = fmt.Sprintf("%s handed over to %s; provisional: that it hands over to %s alone %s.", classify.SafeName(h.From), classify.SafeName(h.To),
				classify.SafeName(l.By), heldIn(in, l.Runs))
			return []classify.Finding{f}
		}
	}
	return nil
}

// stay takes the hand-over out of the trajectory, with the tool call that asked for it and what the agent that it went to did.
func stay(t *change.Trajectory, f change.Finding) bool {
	to := f.Fingerprint.Part("to")
	if f.Step < 0 || f.Step >= len(t.Steps) {
		return false
	}
	if t.Steps[f.Step].Kind == trajectory.StepTool {
		change.DropStep(t, f.Step)
		return true
	}
	its := func(s trajectory.Step) bool {
		return s.Agent != "" && classify.SafeName(s.Agent) == to && (s.Kind == trajectory.StepTool || s.Kind == trajectory.StepModel || s.Kind == trajectory.StepHandoff)
	}
	handed := t.Steps[f.Step].Kind == trajectory.StepHandoff
	for {
		i := slices.IndexFunc(t.Steps[min(f.Step, len(t.Steps)):], its)
		if i < 0 {
			break
		}
		change.DropStep(t, f.Step+i)
	}
	if handed {
		change.DropStep(t, f.Step)
	}
	return true
}

// handRight hands the request to the agent that the policy allows.
func handRight(t *change.Trajectory, f change.Finding) bool {
	if f.Policy == nil || len(f.Policy.Route) != 1 || len(f.Policy.Route[0].Allow) == 0 || f.Step < 0 || f.Step >= len(t.Steps) {
		return false
	}
	right, s := f.Policy.Route[0].Allow[0], &t.Steps[f.Step]
	if s.Kind != trajectory.StepHandoff {
		return false
	}
	wrong := t.Handoffs[s.Index].To
	t.Handoffs[s.Index].To = right
	for i := range t.Steps {
		if sameAgent(t.Steps[i].Agent, wrong) {
			t.Steps[i].Agent = right
		}
	}
	for i := range t.ModelCalls {
		if sameAgent(t.ModelCalls[i].Agent, wrong) {
			t.ModelCalls[i].Agent = right
		}
	}
	for i := range t.ToolCalls {
		if sameAgent(t.ToolCalls[i].Agent, wrong) {
			t.ToolCalls[i].Agent = right
		}
	}
	return true
}

package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// HallucinatedTool finds calls of tools that do not exist: the name is not among the tools offered in that very call, or the framework says
// that it knows no such tool.
var HallucinatedTool = add(classify.Rule{
	Name: "hallucinated_tool", Version: 2, Label: classify.HallucinatedTool, Severity: classify.Blocking, Form: classify.FormNever,
	Doc: classify.Doc{
		Title: "the model called a tool that it was not offered",
		Why: "The call cannot run, and the model believes in an ability that it does not have. The requested name is compared with the tools offered in " +
			"that very model call, prefixes of frameworks aside; tools of the provider, output tools and hand-offs are left out. A framework's own " +
			"words (\"unknown tool\") count too.",
		Fix:     "Name in the system prompt what the agent cannot do, rename the tool that the model means, or offer it in every call of the run.",
		Example: "issue_refund {} where search_orders and get_order were offered",
	},
	Needs:   []trajectory.Fact{trajectory.FactToolCalls},
	Check:   checkHallucinated,
	Repairs: []classify.Repair{change.CallingOffered(), change.WithoutCall()},
})

// unknownTool are the words by which frameworks say that they know no such tool.
var unknownTool = []says{
	wording("pydantic-ai", `^(error: )?unknown tool name`),
	wording("Strands", `^(error: )?unknown tool:|tool '.{1,100}' not found in registry`),
	wording("ADK", `is not found in the tools_dict|^(error: )?tool '?[^ ]{1,100}'? not found`),
	wording("OpenAI Agents", `tool [^ ]{1,100} not found in agent`),
	wording("smolagents", `unknown tool .{1,200}should be (one of|instead one of)`),
	wording("agent-framework", `requested function .{1,200}not found`),
	wording("Semantic Kernel", `is not part of the provided tools`),
	wording("AutoGen", `not found in any workbench`),
	wording("AI SDK", `tried to call unavailable tool|nosuchtoolerror`),
	wording("LiveKit", `unknown ai function`),
	wording("CrewAI", `don't exist,? these are the only available`),
	wording("Genkit", `not_found: tool .{1,100} not found`),
	wording("Gemini CLI", `^(error: )?tool ".{1,100}" not found`),
	wording("Spring AI", `no toolcallback found for tool name`),
	wording("LangGraph", `is not a valid tool`),
	wording("MCP", `mcp error -32601|mcp error -32602: tool .{1,100} not found|unknown tool:`),
	wording("a tool loop", `\b(no such tool|unknown (tool|function)|(tool|function) does not exist|tool .{1,100} not found|unknown_tool|tool_not_found)\b`),
}

func checkHallucinated(in *classify.Input) classify.Result {
	t := in.Trajectory
	var out []classify.Finding
	judged := 0
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		offered, seen := offeredTo(t, c)
		if seen || c.Recalled || !lacksOffer(c) {
			judged++
		}
		if f, ok := hallucination(in, i, offered, seen); ok {
			out = append(out, f)
		}
	}
	if len(out) == 0 && judged == 0 && len(t.ToolCalls) > 0 {
		if !slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return c.Requested }) {
			return classify.Blind(trajectory.FactToolCalls, "")
		}
		return classify.Blind(trajectory.FactToolsOffered, "")
	}
	return classify.Match(merged(out)...)
}

// lacksOffer says that the call could only be judged by an offer: nothing of its own tells that the tool exists.
func lacksOffer(c *trajectory.ToolCall) bool {
	return !c.Executed || !c.HasResult || looksFailed(c) || failed(c)
}

// offeredTo returns the tools that the call could be chosen from; seen is false when the data does not say.
func offeredTo(t *trajectory.Trajectory, c *trajectory.ToolCall) (set *trajectory.ToolSet, seen bool) {
	if c.Model < 0 {
		return nil, false
	}
	set = t.ModelCalls[c.Model].Offered
	return set, set != nil
}

func hallucination(in *classify.Input, i int, offered *trajectory.ToolSet, seen bool) (classify.Finding, bool) {
	c := &in.Trajectory.ToolCalls[i]
	absent := seen && c.Requested && c.Name != "" && notOffered(in.Trajectory, c)
	by := unknownBy(c, absent)
	if by == "" && ran(c) {
		return classify.Finding{}, false // it ran, so it exists; the list of offers is not the whole truth
	}
	if inner := innerTool(c, by); inner != "" && !absent {
		return innerFinding(in, i, inner, by), true
	}
	if server := innerServer(in.Trajectory, i); server != "" && by == "" && !absent {
		return innerFinding(in, i, server, "the one that was asked"), true
	}
	if !absent && by == "" || pseudo(c.Name) {
		return classify.Finding{}, false
	}
	if by != "" && seen && !absent {
		return classify.Finding{}, false // it was offered: that the server lost it is the outside's failure, not the model's
	}
	return hallucinatedFinding(in, i, offered, absent, by), true
}

// ran says that the call was executed and gave no sign of failing. An answer that is recorded and empty is a sign: hand-written loops answer
// so for tools that they do not have.
func ran(c *trajectory.ToolCall) bool {
	empty := c.HasResult && !c.Result.Truncated && strings.TrimSpace(c.Result.Raw) == ""
	return c.Executed && c.Outcome == trajectory.OutcomeOK && !empty && !looksFailed(c)
}

// unknownBy returns whose words say that there is no such tool. In the result of a tool that was offered, or may have been, they count only
// if the result reads as an error.
func unknownBy(c *trajectory.ToolCall, absent bool) string {
	if c.Error != nil {
		if who := speaker(unknownTool, c.Error.Type+" "+c.Error.Message); who != "" {
			return who
		}
	}
	if c.HasResult && (absent || failed(c) || looksFailed(c)) {
		if who := speaker(unknownTool, c.Result.Raw[:min(len(c.Result.Raw), 400)]); who != "" {
			return who
		}
	}
	if c.Error != nil && c.Error.Type == trajectory.ErrUnknownTool {
		return "the framework"
	}
	return ""
}

// namesTool takes the name out of the words about an unknown tool.
var namesTool = regexp.MustCompile("(?i)(?:unknown tool:? |tool )[\"'`]?([A-Za-z0-9_.-]{2,64})[\"'`]?(?: not found|\\b)")

// innerTool returns the name of a tool that does not exist and that this call, of a tool that runs others, asked for: the words name it and
// the arguments hold it.
func innerTool(c *trajectory.ToolCall, by string) string {
	if by == "" || c.Arguments.JSON == nil {
		return ""
	}
	text := c.Result.Raw
	if text == "" && c.Error != nil {
		text = c.Error.Message
	}
	m := namesTool.FindStringSubmatch(text[:min(len(text), phraseWindow)])
	if m == nil || m[1] == c.Name || !strings.Contains(string(c.Arguments.JSON), `"`+m[1]+`"`) {
		return ""
	}
	return m[1]
}

// namesServer takes the name out of the words about an unknown server of tools.
var namesServer = regexp.MustCompile("(?i)\\b(?:unknown|no such) (?:mcp )?server:? [\"'`]?([^\"'`\\n]{2,64}?)[\"'`]?(?:[.,;\\n]|$)|\\bserver [\"'`]([^\"'`\\n]{2,64})[\"'`] (?:is |was |does )?(?:not (?:defined|found|configured|known|registered|exist)|unknown)")

// innerServer returns the name of a server of tools that does not exist and that this call asked for: the words name it, the arguments hold it, and
// nothing that the model had read does. What a list of servers named is that list's fault.
func innerServer(t *trajectory.Trajectory, i int) string {
	c := &t.ToolCalls[i]
	if c.Arguments.JSON == nil || c.Model < 0 || !failed(c) && !looksFailed(c) {
		return ""
	}
	m := namesServer.FindStringSubmatch(c.Result.Raw[:min(len(c.Result.Raw), 400)])
	if m == nil {
		return ""
	}
	name := m[1] + m[2]
	if !strings.Contains(string(c.Arguments.JSON), `"`+name+`"`) || heardOf(t, i, name) {
		return ""
	}
	return name
}

// heardOf says that a name stands in what the model could read before a call.
func heardOf(t *trajectory.Trajectory, call int, name string) bool {
	has := func(s string) bool { return strings.Contains(s, name) }
	set, _ := offeredTo(t, &t.ToolCalls[call])
	return has(t.SystemPrompt) || slices.ContainsFunc(t.UserMessages, has) ||
		slices.ContainsFunc(t.ModelCalls, func(m trajectory.ModelCall) bool { return has(m.System) }) ||
		slices.ContainsFunc(t.ToolCalls[:call], func(o trajectory.ToolCall) bool { return has(o.Result.Raw) }) ||
		set != nil && slices.ContainsFunc(set.Tools, func(d trajectory.ToolDef) bool { return has(d.Description) || has(string(d.Schema)) })
}

func innerFinding(in *classify.Input, i int, inner, by string) classify.Finding {
	c := &in.Trajectory.ToolCalls[i]
	name, through := classify.SafeName(inner), classify.SafeName(c.Name)
	f := in.Finding(c.Agent, classify.Name("tool", digitRuns.ReplaceAllString(inner, "#")), classify.Name("through", c.Name))
	f.Step, f.Confidence = stepOf(in.Trajectory, trajectory.StepTool, i), 0.9
	f.Title = name + " called through " + through + ", a tool that does not exist"
	f.Why = fmt.Sprintf("%s was asked to run %s, and the answer is that there is no such tool.", through, name)
	f.Evidence = []classify.Evidence{{SpanID: firstOf(c.ResultSpanID, c.SpanID), What: "no such tool " + name + ", in the words of " + by}}
	return f
}

var digitRuns = regexp.MustCompile(`[0-9]+`)

func hallucinatedFinding(in *classify.Input, i int, offered *trajectory.ToolSet, absent bool, by string) classify.Finding {
	c := &in.Trajectory.ToolCalls[i]
	name := classify.SafeName(catalog.Normalise(c.Name))
	f := in.Finding(c.Agent, classify.Name("tool", digitRuns.ReplaceAllString(catalog.Normalise(c.Name), "#")))
	f.Step = stepOf(in.Trajectory, trajectory.StepTool, i)
	f.Title = name + " called, a tool that was not offered"
	switch {
	case absent && by != "":
		f.Confidence = 0.99
		f.Why = fmt.Sprintf("%s is none of the %d tools offered in this call, and the answer to it is that there is no such tool", name, len(offered.Tools))
	case absent:
		f.Confidence = 0.95
		f.Why = fmt.Sprintf("%s is none of the %d tools offered in this call", name, len(offered.Tools))
	default:
		f.Confidence = 0.85
		f.Why = fmt.Sprintf("the answer to the call of %s is that there is no such tool", name)
	}
	f.Why += suggestion(c.Name, offered) + "."
	if absent {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: firstOf(c.RequestSpanID, c.SpanID), What: "requested " + name + "; not among the offered tools"})
	}
	if by != "" {
		f.Evidence = append(f.Evidence, classify.Evidence{SpanID: firstOf(c.ResultSpanID, c.SpanID), What: "no such tool, in the words of " + by})
	}
	return f
}

func suggestion(name string, offered *trajectory.ToolSet) string {
	if offered == nil {
		return ""
	}
	names := []string{}
	for _, d := range offered.Tools {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	if near, ok := classify.Nearest(catalog.Normalise(name), names); ok {
		return "; perhaps it means " + classify.SafeName(near)
	}
	return ""
}

func firstOf(ids ...string) string {
	for _, id := range ids {
		if id != "" {
			return id
		}
	}
	return ""
}

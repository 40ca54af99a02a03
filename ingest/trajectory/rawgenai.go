package trajectory

import "cmp"

// Home-made spans in the conventions' own namespace: gen_ai.tokens.*, gen_ai.action and the like, which no version of them has. A step that
// tells tokens is taken for a call of the model by the agent that it names, one that only tells an answer for that agent's run.
var _ = add(Dialect{Name: "raw", Rank: 35, Keys: []string{"gen_ai."}, Score: scoreRawGenAI, Read: readRawGenAI, Remedies: raw.Remedies})

var (
	ownInput  = []string{"gen_ai.tokens.input", "gen_ai.tokens.prompt", "gen_ai.input_tokens", "gen_ai.prompt_tokens"}
	ownOutput = []string{"gen_ai.tokens.output", "gen_ai.tokens.completion", "gen_ai.output_tokens", "gen_ai.completion_tokens"}
	ownAnswer = []string{"gen_ai.response.sample", "gen_ai.response.content", "gen_ai.response"}
	ownAsked  = []string{"gen_ai.task", "gen_ai.request.content", "gen_ai.request.prompt", "gen_ai.user_input"}
	ownMarks  = []string{"gen_ai.action", "gen_ai.step.sequence", "gen_ai.state.delta", "gen_ai.state.hash"}
)

// scoreRawGenAI is above that of the conventions' mere prefix, and below any of their marks.
func scoreRawGenAI(s *Span) int {
	a := s.Attrs
	if a.hasAny(ownInput)+a.hasAny(ownOutput)+a.hasAny(ownAnswer)+a.hasAny(ownAsked)+a.hasAny(ownMarks) == 0 {
		return 0
	}
	return 8
}

func readRawGenAI(s *Span) Facts {
	a := s.Attrs
	f := readGenAI(s)
	answer := a.Str(ownAnswer...)
	f.Usage.Input = cmp.Or(f.Usage.Input, a.Int(ownInput...))
	f.Usage.Output = cmp.Or(f.Usage.Output, a.Int(ownOutput...))
	switch {
	case f.Role == RoleTool:
		if !f.HasResult && answer != "" {
			f.Result, f.HasResult = ParseValue(answer), true
		}
		return f
	case f.Role == RoleNone && s.ParentID != "" && f.Usage.counted():
		f.Role = RoleModel
	case f.Role == RoleNone && (s.ParentID == "" || answer != ""):
		f.Role = RoleAgent
	}
	if f.Role == RoleAgent {
		f.UserText, f.Reply = cmp.Or(f.UserText, a.Str(ownAsked...)), cmp.Or(f.Reply, answer)
		return f
	}
	if asked := a.Str(ownAsked...); asked != "" && f.Input.Empty() {
		f.Input = spokenHistory(asked)
	}
	if answer != "" && len(f.Output) == 0 {
		f.Output = []Message{{Role: "assistant", Parts: []Part{{Kind: PartText, Text: answer}}}}
	}
	return f
}

package trajectory

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// publicSpan reads a fixture that is one span with its scope and name.
func publicSpan(t *testing.T, file string) *Span {
	data, err := os.ReadFile(filepath.Join("../../../shared/data/public", file))
	if err != nil {
		t.Skipf("no public fixtures here: %v", err)
	}
	var one struct {
		Scope string         `json:"scopeName"`
		Name  string         `json:"spanName"`
		Attrs map[string]any `json:"attributes"`
	}
	if err := json.Unmarshal(data, &one); err != nil {
		t.Fatal(err)
	}
	return fixtureSpan{Name: one.Name, Scope: one.Scope, Attrs: one.Attrs}.span(t)
}

// Real spans of coding agents found in public.
func TestPublicCodingAgents(t *testing.T) {
	for _, c := range []struct {
		file, dialect string
		tells         []string
	}{
		{"codex/codex-B.session_task_turn.json", "codex", []string{"role       agent", "asked      gpt-5.5", "in 13297, out 23, read 4480, reasoning 10", "session    019e9bfe-7749-7440-8506-39152afbc9ff"}},
		{"gemini-cli/gemini-B.llm_call.json", "gemini-cli", []string{"role       model", "asked      gemini-3.1-flash-lite", "session    945bd8d5-0657-4385-a99e-30240bfd2e00",
			"offered    none", "system     You are a specialized Task Routing AI.", `assistant: think(`, `"complexity_score": 5`, `Turn 1: reply with exactly`}},
	} {
		s := publicSpan(t, c.file)
		d := winner(s)
		if d == nil || d.Name != c.dialect {
			t.Fatalf("%s is read as %v", c.file, d)
		}
		text := factsText(d.Read(s))
		for _, want := range c.tells {
			if !strings.Contains(text, want) && !strings.Contains(strings.ReplaceAll(text, `\`, ""), want) {
				t.Errorf("%s: no %q in\n%s", c.file, want, text)
			}
		}
	}
}

// publicSpansOf reads a fixture that holds its spans in a member.
func publicSpansOf(t *testing.T, file string) []Trace {
	data, err := os.ReadFile(filepath.Join("../../../shared/data/public", file))
	if err != nil {
		t.Skipf("no public fixtures here: %v", err)
	}
	var whole struct {
		Spans []dumpedSpan `json:"spans"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&whole); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	tr := Trace{}
	for _, d := range whole.Spans {
		tr.Spans = append(tr.Spans, d.span(t))
	}
	return []Trace{tr}
}

// Claude Agent SDK under AWS's distribution: the query's usage counts once, with its cached tokens, and its calls are requests.
func TestPublicClaudeUnderADOT(t *testing.T) {
	story := storyOf(publicSpansOf(t, "aws-adot/claude_adot_spans.json"))
	for text, n := range map[string]int{
		"in 32312, out 767, read 29447, write 2861, cost 0.0712653":          1,
		"tool Agent agent=ClaudeAgentSDK.query":                              2,
		"requested=true executed=true ok":                                    2,
		"tool Bash agent=math-agent":                                         1,
		"tool Bash agent=conversion-agent":                                   1,
		"handoff ClaudeAgentSDK.query > math-agent":                          1,
		`user ["What is 42 * 7, and how many miles is that in kilometers?"]`: 1,
	} {
		if got := strings.Count(story, text); got != n {
			t.Errorf("%q %d times, want %d, in\n%s", text, got, n, story)
		}
	}
}

// Runs with sub-agents found in public.
func TestPublicAgents(t *testing.T) {
	for _, c := range []struct {
		file  string
		tells map[string]int
	}{
		{"openai-agents-genai/openai_agents_genai_live_spans.json", map[string]int{
			"model gpt-4o-mini-2024-07-18 agent=coordinator": 3, "\nmodel ": 7, "requested=true executed=true ok": 5, "missing": 0,
			`multiply_numbers agent=math_specialist {"a":240,"b":1000}`: 1, `{"a":0,"b":1000}`: 1, "asked=2": 0,
		}},
		{"claude-agent-sdk/claude_live_spans.json", map[string]int{
			"tool Agent agent=ClaudeAgentSDK.query": 3, "tool Bash agent=research-specialist": 2, "tool Bash agent=math-specialist": 1, "handoff ClaudeAgentSDK.query > research-specialist": 2,
			`reply "New York is 89°F and Seattle is 72°F.`: 1,
		}},
	} {
		story := storyOf(publicSpans(t, c.file))
		for text, n := range c.tells {
			if got := strings.Count(story, text); got != n {
				t.Errorf("%s: %q %d times, want %d, in\n%s", c.file, text, got, n, story)
			}
		}
	}
}

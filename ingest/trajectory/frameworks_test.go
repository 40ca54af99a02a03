package trajectory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// Frameworks' own dialects: their facts per span must agree with the captures' manifest and with what really happened.
func TestCapturesFactsOfFrameworks(t *testing.T) {
	known := map[string]int{ // as in TestCapturesFacts
		"google-adk-js 2.0.0 tools":   1, // a long-running tool that never answered
		"google-adk-js 2.0.0 usage":   2, // calls that failed leave a span without attributes and without an error
		"google-adk-js 2.0.0 finish":  2,
		"google-adk-js 2.0.0 offered": 2,
		"strands-ts 1.16.0 names":     3, // calls that the SDK refused have a span, and are not in the log
		"strands-ts 1.16.0 args":      3,
		"strands-ts 1.16.0 results":   3,
	}
	table := map[string]*sdkScore{}
	var labels []string
	for _, c := range readCaptures(t, "google-adk", "strands", "sentry") {
		row := table[c.label()]
		if row == nil {
			row = &sdkScore{}
			table[c.label()] = row
			labels = append(labels, c.label())
		}
		scoreCapture(t, c, row)
	}
	slices.Sort(labels)
	t.Logf("%-34s %s", "", strings.Join(scoreNames, "   "))
	for _, l := range labels {
		line := ""
		for i, s := range table[l].all() {
			line += fmt.Sprintf("%8s", s)
			if missing := s.of - s.right; missing > known[l+" "+scoreNames[i]] {
				t.Errorf("%s: %s %s, want at most %d missing", l, scoreNames[i], s, known[l+" "+scoreNames[i]])
			}
		}
		t.Logf("%-34s %s", l, line)
	}
}

// The calls of a trajectory must be as many as the capture's manifest counts, each with usage, finish reason and schemas where it has them;
// unseen are those, per SDK, that the data shows nothing of.
func TestCapturesCallsOfFrameworks(t *testing.T) {
	unseen := map[string][4]int{
		"google-adk-js 2.0.0": {0, 2, 2, 2}, // calls that failed, and say so nowhere
		"mastra 1.71.0":       {0, 0, 0, 5}, // streamed and paused calls have no response body, which alone repeats the tools
	}
	table := map[string]*[4]score{}
	for _, c := range readCaptures(t, "google-adk", "strands", "mastra", "sentry") {
		row := table[c.label()]
		if row == nil {
			row = &[4]score{}
			table[c.label()] = row
		}
		models := 0
		for _, tr := range c.traces {
			for _, m := range Build(tr).ModelCalls {
				models++
				if m.Error != nil {
					continue
				}
				row[1].add(m.Usage.Input != nil && m.Usage.Output != nil || !strings.HasPrefix(c.usage, "yes"))
				row[2].add(m.FinishReason != "" || !strings.HasPrefix(c.finish, "yes"))
				row[3].add(m.Offered.hasSchema() || c.defs == "no" || c.defs == "names" && c.sdk != "mastra")
			}
		}
		row[0].add(models == c.llm)
	}
	for label, row := range table {
		t.Logf("%s: calls %v", label, *row)
		for i, s := range row {
			if missing := s.of - s.right; missing > unseen[label][i] {
				t.Errorf("%s: measure %d: %s, want at most %d missing", label, i, s, unseen[label][i])
			}
		}
	}
}

// Real spans of the frameworks in any order, one request a span, give the same bytes.
func TestFrameworksInAnyOrder(t *testing.T) {
	if _, err := os.Stat(capturesDir); err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	rnd := rand.New(rand.NewPCG(2, 9))
	for _, sdk := range []string{"google-adk-js-2.0.0", "mastra-1.71.0", "sentry-openai-10.78.0"} {
		for _, scenario := range []string{"S07", "S09"} {
			tds, lds := capturedRequests(t, sdk, scenario)
			sameInAnyOrder(t, sdk, rnd, oneSpanEach(tds), lds)
		}
	}
}

// What exports found in public tell, read by the frameworks' dialects.
func TestPublicFrameworks(t *testing.T) {
	for _, c := range []struct {
		file  string
		tells map[string]int
	}{
		{"adk/adk_live_spans.json", map[string]int{
			"\nmodel ": 1, "model gemini-3.5-flash agent=math_agent": 2, // the two spans of each call are one
			"in 157, out 51, reasoning 32": 1, "offered=1": 2,
			`tool calculator agent=math_agent {"expression":"15 * 37"} requested=true executed=true ok`: 1,
			`user ["What is 15 multiplied by 37?"] reply "15 multiplied by 37 is 555."`:                 1,
		}},
		{"autogen/autogen_live_spans.json", map[string]int{ // nothing of what tools were given or gave, and no call of a model
			"tool calculate agent=math_assistant  requested=false executed=true unknown": 1,
			"\nmodel ": 0,
		}},
		{"pydantic-ai/pydantic_ai_live_spans.json", map[string]int{
			"agent=agent in 588, out 53, cost 0.0028149 finish=tool_calls offered=1 asked=1": 1,
			"agent=agent in 663, out 25": 1,
			`tool get_weather agent=agent {"city":"Seattle"} requested=true executed=true ok`:   1,
			`user ["What's the weather like in Seattle right now?"] reply "The current weather`: 1,
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			story := storyOf(publicSpans(t, c.file))
			for text, n := range c.tells {
				if got := strings.Count(story, text); got != n {
					t.Errorf("%q %d times, want %d, in\n%s", text, got, n, story)
				}
			}
		})
	}
}

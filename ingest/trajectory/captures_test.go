package trajectory

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const capturesDir = "../../../shared/data/captures"

// runTruth is what really happened in a capture.
type runTruth struct {
	Outcome struct {
		Turns []string `json:"turns"`
	} `json:"outcome"`
	ToolLog []struct {
		Name    string          `json:"name"`
		Args    json.RawMessage `json:"args"`
		Result  json.RawMessage `json:"result"`
		Error   string          `json:"error"`
		Outcome string          `json:"outcome"`
	} `json:"tool_log"`
}

// captured reads one scenario of one SDK.
func captured(t testing.TB, sdk, scenario string) ([]Trace, runTruth) {
	t.Helper()
	tds, lds := capturedRequests(t, sdk, scenario)
	var tr runTruth
	data, err := os.ReadFile(filepath.Join(capturesDir, sdk, scenario+".truth.json"))
	if err == nil {
		err = json.Unmarshal(data, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return FromOTLP(tds, lds), tr
}

func capturedRequests(t testing.TB, sdk, scenario string) (tds []ptrace.Traces, lds []plog.Logs) {
	t.Helper()
	dir := filepath.Join(capturesDir, sdk)
	for _, line := range gzLines(t, filepath.Join(dir, scenario+".otlp.jsonl.gz")) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatalf("%s %s: %v", sdk, scenario, err)
		}
		tds = append(tds, td)
	}
	for _, line := range gzLines(t, filepath.Join(dir, scenario+".logs.otlp.jsonl.gz")) {
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
		if err != nil {
			t.Fatalf("%s %s: %v", sdk, scenario, err)
		}
		lds = append(lds, ld)
	}
	return tds, lds
}

func gzLines(t testing.TB, path string) [][]byte {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		if len(sc.Bytes()) > 0 {
			out = append(out, slices.Clone(sc.Bytes()))
		}
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
	return out
}

// tally counts, for one SDK, what of the truth the trajectories tell.
type tally struct {
	calls, found, args, results, outcomes, answers, answered, extra int
	traces, models, gaps                                            int
	misses                                                          []string
}

func (s *tally) missed(scenario, format string, args ...any) {
	s.misses = append(s.misses, scenario+": "+fmt.Sprintf(format, args...))
}

// compare looks up every executed call of the truth, and the final answer, in the trajectories of the scenario.
func (s *tally) compare(scenario string, trs []*Trajectory, tr runTruth) {
	var calls []ToolCall
	replies := map[string]bool{}
	byID := map[string]bool{}
	for _, t := range trs {
		s.traces++
		s.models += len(t.ModelCalls)
		s.gaps += len(t.Gaps)
		for _, c := range t.ToolCalls {
			if c.ID != "" && byID[c.ID] {
				calls = slices.DeleteFunc(calls, func(o ToolCall) bool { return o.ID == c.ID && !o.HasResult })
				if slices.ContainsFunc(calls, func(o ToolCall) bool { return o.ID == c.ID }) {
					continue
				}
			}
			byID[c.ID] = true
			calls = append(calls, c)
		}
		if t.Reply != nil {
			replies[strings.TrimSpace(*t.Reply)] = true
		}
	}
	for _, want := range tr.ToolLog {
		s.calls++
		args := canonical(string(want.Args))
		same := func(c ToolCall) bool { return c.Name == want.Name && string(c.Arguments.JSON) == string(args) }
		i := slices.IndexFunc(calls, func(c ToolCall) bool { return same(c) && c.HasResult })
		if i < 0 {
			i = slices.IndexFunc(calls, same)
		}
		if i < 0 {
			i = slices.IndexFunc(calls, func(c ToolCall) bool { return c.Name == want.Name })
		}
		if i < 0 {
			s.missed(scenario, "no call of %s", want.Name)
			continue
		}
		c := calls[i]
		calls = slices.Delete(calls, i, i+1)
		s.found++
		s.check(scenario, c, want.Name, string(args), want.Result, want.Error, want.Outcome)
	}
	calls = slices.DeleteFunc(calls, func(c ToolCall) bool { return c.Outcome != OutcomeOK }) // refused and unanswered calls are in no log
	s.extra += len(calls)
	for _, c := range calls {
		s.missed(scenario, "extra %s %s (%s)", c.Name, c.Arguments.Raw, c.Outcome)
	}
	for _, turn := range tr.Outcome.Turns {
		// The capturer put the finish reason in brackets behind some answers, or nothing but that.
		if i := strings.LastIndexByte(turn, '['); i >= 0 {
			turn = turn[:i]
		}
		if turn = strings.TrimSpace(turn); turn == "" {
			continue
		}
		s.answers++
		if replies[turn] {
			s.answered++
			continue
		}
		s.missed(scenario, "no reply %.40q", turn)
	}
}

func (s *tally) check(scenario string, c ToolCall, name, args string, result json.RawMessage, failure, outcome string) {
	if string(c.Arguments.JSON) == args {
		s.args++
	} else {
		s.missed(scenario, "%s arguments %q, want %s", name, c.Arguments.Raw, args)
	}
	want := canonical(string(result))
	text, _ := unquote(string(want))
	switch {
	case string(result) == "" && outcome == "ok": // the log of a tool in another process has no results
		s.results++
	case string(result) == "" || string(result) == "null":
		if c.Error != nil && (failure == "" || strings.Contains(c.Error.Message, failure)) || outcome == "hang" && c.Outcome == OutcomeUnknown {
			s.results++
		} else {
			s.missed(scenario, "%s error %+v, want %q", name, c.Error, failure)
		}
	case string(c.Result.JSON) == string(want) || c.HasResult && c.Result.Raw == text:
		s.results++
	default:
		s.missed(scenario, "%s result %.60q, want %.60s", name, c.Result.Raw, result)
	}
	failed := outcome != "ok"
	got := c.Outcome == OutcomeError || c.Outcome == OutcomeTimeout
	if failed && got || !failed && c.Outcome == OutcomeOK || outcome == "hang" && c.Outcome == OutcomeUnknown {
		s.outcomes++
	} else {
		s.missed(scenario, "%s outcome %s, want %s", name, c.Outcome, outcome)
	}
}

// floors are what the reading of each SDK must at least reach, in percent of the executed calls (found, with arguments, with result, with
// outcome) and of the answers.
var floors = map[string][5]int{
	"langtrace-openai-6.3.7":             {100, 100, 94, 94, 100},
	"voltagent-2.10.0":                   {100, 100, 100, 100, 100},
	"langfuse-openai-5.11.1":             {100, 100, 100, 100, 100},
	"genkit-js-1.42.0":                   {100, 100, 100, 100, 100},
	"google-adk-js-2.0.0":                {100, 100, 100, 100, 100},
	"laminar-openai-0.8.44":              {100, 100, 100, 100, 100},
	"langsmith-openai-0.12.0":            {100, 100, 100, 100, 100},
	"mastra-1.71.0":                      {100, 100, 100, 100, 100},
	"openai-agents-openinference-0.20.0": {100, 100, 100, 100, 87}, // three turns are one trace: only the last has its reply
	"openinference-bedrock-0.5.1":        {100, 100, 100, 100, 100},
	"openinference-langchain-4.1.1":      {100, 100, 100, 100, 100},
	"openinference-openai-4.2.7":         {100, 100, 100, 100, 100},
	"openinference-tanstack-0.2.13":      {100, 100, 100, 100, 100},
	"openinference-vercel-2.8.1":         {100, 100, 100, 100, 100},
	"openlit-langchain-1.15.0":           {100, 100, 93, 100, 100},
	"otel-openai-chat-0.21.0":            {100, 100, 100, 100, 100},
	"otel-openai-responses-0.21.0":       {100, 100, 100, 100, 100},
	"sentry-openai-10.78.0":              {100, 100, 100, 100, 100},
	"strands-ts-1.16.0":                  {100, 100, 100, 100, 100},
	"traceloop-langchain-0.27.0":         {100, 100, 100, 100, 100},
	"traceloop-mcp-0.27.0":               {100, 100, 100, 100, 100},
	"traceloop-openai-0.16.1":            {100, 100, 100, 100, 100},
	"traceloop-openai-0.27.0":            {100, 100, 100, 100, 100},
	"vercel-ai-4.3.19":                   {100, 100, 100, 100, 100},
	"vercel-ai-5.0.277":                  {100, 100, 100, 100, 100},
	"vercel-ai-7.0.173":                  {100, 100, 100, 100, 100},
	"vercel-ai-legacyotel-7.0.173":       {100, 100, 100, 100, 100},
	"vercel-ai-supplemental-7.0.173":     {100, 100, 100, 100, 100},
}

func TestCaptures(t *testing.T) {
	dirs, err := os.ReadDir(capturesDir)
	if err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	t.Logf("%-34s %6s %6s | %5s %5s %5s %5s %5s %5s | %s", "sdk", "traces", "models", "calls", "found", "args", "reslt", "outc", "extra", "answers")
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		s := &tally{}
		for _, scenario := range scenarios(t, d.Name()) {
			traces, tr := captured(t, d.Name(), scenario)
			var trs []*Trajectory
			for _, trace := range traces {
				trs = append(trs, Build(trace))
			}
			s.compare(scenario, trs, tr)
		}
		t.Logf("%-34s %6d %6d | %5d %5d %5d %5d %5d %5d | %d/%d", d.Name(), s.traces, s.models, s.calls, s.found, s.args, s.results, s.outcomes, s.extra, s.answered, s.answers)
		if only := os.Getenv("PAWL_CAPTURE"); only != "" && strings.HasPrefix(d.Name(), only) {
			t.Log(strings.Join(s.misses, "\n"))
		}
		if floor, ok := floors[d.Name()]; ok {
			for i, got := range []int{s.found * 100 / s.calls, s.args * 100 / s.calls, s.results * 100 / s.calls, s.outcomes * 100 / s.calls, s.answered * 100 / s.answers} {
				if got < floor[i] {
					t.Errorf("%s: measure %d is %d %%, was %d %%", d.Name(), i, got, floor[i])
				}
			}
		}
	}
}

// Every SDK of the captures is read by a dialect: none is passed over as known and unread.
func TestCapturesAreAllRead(t *testing.T) {
	dirs, err := os.ReadDir(capturesDir)
	if err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		traces, _ := captured(t, d.Name(), "S01")
		for _, trace := range traces {
			tr := Build(trace)
			if len(trace.Spans) == 1 && trace.Spans[0].Attrs.Text("gen_ai.operation.name") == "create_agent" {
				continue // an agent was made, and did not run in this trace
			}
			if gap, ok := tr.Lacks(FactDialect); ok || !tr.IsAgent() {
				t.Errorf("%s: agent %v, gap %q", d.Name(), tr.IsAgent(), gap.Remedy)
			}
		}
	}
}

// Real spans in any order, one request a span, give the same bytes.
func TestCapturesInAnyOrder(t *testing.T) {
	if _, err := os.Stat(capturesDir); err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, sdk := range []string{"otel-openai-responses-0.21.0", "vercel-ai-7.0.173", "strands-ts-1.16.0"} {
		for _, scenario := range []string{"S01", "S07"} {
			tds, lds := capturedRequests(t, sdk, scenario)
			sameInAnyOrder(t, sdk, rnd, oneSpanEach(tds), lds)
		}
	}
}

func oneSpanEach(tds []ptrace.Traces) []ptrace.Traces {
	var out []ptrace.Traces
	for _, td := range tds {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					one := ptrace.NewTraces()
					to := one.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(to.Resource())
					scope := to.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(scope.Scope())
					s.CopyTo(scope.Spans().AppendEmpty())
					out = append(out, one)
				}
			}
		}
	}
	return out
}

func scenarios(t *testing.T, sdk string) []string {
	files, err := filepath.Glob(filepath.Join(capturesDir, sdk, "*.truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[strings.TrimSuffix(filepath.Base(f), ".truth.json")] = true
	}
	return slices.Sorted(maps.Keys(names))
}

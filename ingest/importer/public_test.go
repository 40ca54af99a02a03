package importer_test

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// facts counts what the traces of a file tell. Of tool calls it counts those with arguments and those with a result, of model
// calls those with usage.
type facts struct {
	spans, traces, model, tools, args, results, usage, users, replies int
}

func factsOf(r read) (f facts) {
	for _, rep := range r.reports {
		f.spans += rep.Spans
	}
	for _, tr := range trajectory.FromOTLP(r.traces, r.logs) {
		x := trajectory.Build(tr)
		f.traces++
		f.model += len(x.ModelCalls)
		f.tools += len(x.ToolCalls)
		f.users += len(x.UserMessages)
		if x.Reply != nil {
			f.replies++
		}
		for _, m := range x.ModelCalls {
			if m.Usage.Input != nil && m.Usage.Output != nil {
				f.usage++
			}
		}
		for _, c := range x.ToolCalls {
			if c.Arguments.JSON != nil {
				f.args++
			}
			if c.HasResult {
				f.results++
			}
		}
	}
	return f
}

func (f facts) list() []int {
	return []int{f.spans, f.traces, f.model, f.tools, f.args, f.results, f.usage, f.users, f.replies}
}

// floor is what each file of the public exports tells today, spans of OTLP rows and log records counted together. What the
// file does not hold is 0: see its MANIFEST.
var floor = map[string]facts{
	"adk/adk_live_spans.json":                                      {spans: 7, traces: 1, model: 2, tools: 1, args: 1, results: 1, usage: 2, users: 1, replies: 1},
	"adk-jaeger/k8s.jaeger.json":                                   {spans: 73, traces: 1, model: 1, usage: 1, users: 1, replies: 1},
	"autogen/autogen_live_spans.json":                              {spans: 3, traces: 2, tools: 1},
	"aws-adot/claude_adot_spans.json":                              {spans: 8, traces: 1, model: 1, tools: 4, args: 4, results: 4, usage: 1, users: 1, replies: 1},
	"aws-adot/openai_agents_openinference_adot_spans.json":         {spans: 16, traces: 1, model: 3, tools: 3, args: 3, results: 3, usage: 3, users: 1, replies: 1},
	"aws-adot/raw_otel_langchain_runtime_logs.json":                {spans: 14, traces: 2, model: 2, users: 2, replies: 2},
	"aws-adot/raw_otel_langchain_spans.json":                       {spans: 12, traces: 2, model: 2, usage: 2},
	"aws-adot/raw_otel_langchain_tool_runtime_logs.json":           {spans: 17, traces: 1, model: 2, tools: 1, args: 1, results: 1, users: 1, replies: 1},
	"claude-agent-sdk/claude_live_spans.json":                      {spans: 10, traces: 1, model: 1, tools: 6, args: 6, results: 6, usage: 1, users: 1, replies: 1},
	"claude-code/claude_code.json":                                 {},
	"codex/codex-B.session_task_turn.json":                         {spans: 1, traces: 1, model: 1, usage: 1},
	"gemini-cli/gemini-B.llm_call.json":                            {spans: 1, traces: 1, model: 1, usage: 1, users: 2, replies: 1},
	"langfuse-export/claude-agent-2025-12-22.trace.json":           {spans: 7, traces: 1, model: 4, tools: 2, args: 2, results: 2, usage: 4, users: 1, replies: 1},
	"langfuse-export/google-adk-2025-08-28.trace.json":             {spans: 5, traces: 1, model: 2, tools: 1, args: 1, results: 1, usage: 2, users: 1, replies: 1},
	"langfuse-export/langgraph-python-2025-08-22.trace.json":       {spans: 9, traces: 1, model: 2, tools: 1, args: 1, results: 1, usage: 2, users: 2, replies: 1},
	"langfuse-export/openai-agents-2025-09-30.trace.json":          {spans: 5, traces: 1, model: 2, tools: 1, args: 1, results: 1, usage: 2, users: 1, replies: 1},
	"langfuse-export/pydantic-ai-tools-2025-12-04.trace.json":      {spans: 12, traces: 1, model: 4, tools: 4, args: 4, results: 3, usage: 4, users: 3, replies: 1},
	"langfuse-export/vercel-aisdk-2025-11-17.trace.json":           {spans: 3, traces: 1, model: 1, tools: 1, args: 1, results: 1, usage: 1, users: 1},
	"openai-agents-genai/openai_agents_genai_live_spans.json":      {spans: 17, traces: 1, model: 8, tools: 5, args: 5, results: 5, usage: 8, users: 1, replies: 1},
	"openinference/openai_agents_openinference_live_spans.json":    {spans: 19, traces: 1, model: 5, tools: 4, args: 4, results: 4, usage: 5, users: 1, replies: 1},
	"openinference/openinference_client_span_tool_calls.json":      {spans: 1, traces: 1, model: 1, tools: 1, args: 1, results: 1, usage: 1, users: 1, replies: 1},
	"openinference/openinference_live_spans.json":                  {spans: 6, traces: 1, model: 2, tools: 2, args: 2, results: 1, users: 2, replies: 1},
	"openinference/smolagents_live_spans.json":                     {spans: 7, traces: 1, model: 2, tools: 2, args: 2, results: 2, usage: 2, users: 1, replies: 1},
	"otel-genai/nested-subagent.json":                              {spans: 6, traces: 1, model: 2, tools: 2, args: 2, results: 2, replies: 1},
	"otel-genai/otel_genai_client_span_tool_calls.json":            {spans: 1, traces: 1, model: 1, tools: 1, args: 1, results: 1, usage: 1, users: 1, replies: 1},
	"otel-genai/otel_genai_convention_spans.json":                  {spans: 5, traces: 1, model: 2, tools: 2, args: 2, results: 2, usage: 2, users: 1, replies: 1},
	"otel-genai/otel_genai_deprecated_client_span_tool_calls.json": {spans: 1, traces: 1, model: 1, tools: 1, args: 1, results: 1, usage: 1, users: 1, replies: 1},
	"otel-genai/otel_genai_tool_execution_span.json":               {spans: 1, traces: 1, tools: 1},
	"otlp-generic/trace.json":                                      {spans: 1, traces: 1},
	"pydantic-ai/pydantic_ai_live_spans.json":                      {spans: 4, traces: 1, model: 2, tools: 1, args: 1, results: 1, usage: 2, users: 1, replies: 1},
	"synthetic-golden/golden_subset.jsonl":                         {spans: 99, traces: 18, tools: 3},
	"vercel-ai/v6-all-spans.json":                                  {spans: 10, traces: 10, model: 4, usage: 4, users: 9, replies: 8},
}

// TestPublicExports reads every public export and compares what it tells with the floor; the table is printed with -v.
func TestPublicExports(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "public")
	in, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Skipf("no public exports: %v", err)
	}
	defer in.Close()
	rows := csv.NewReader(in)
	rows.Comma, rows.LazyQuotes = '\t', true
	all, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "file\tshape\tspans\ttraces\tmodel\ttools\targs\tresults\tusage\tusers\treplies\tshows")
	for _, row := range all[1:] {
		file, shows := row[0], row[6]
		got := readFile(t, filepath.Join(dir, file))
		if len(got.problems) > 0 {
			t.Errorf("%s: %q", file, got.problems)
		}
		f := factsOf(got)
		fmt.Fprintf(w, "%s\t%s\t%s\t%.90s\n", file, shapeName(t, filepath.Join(dir, file)), strings.Trim(strings.ReplaceAll(fmt.Sprint(f.list()), " ", "\t"), "[]"), shows)
		want, known := floor[file]
		if !known {
			t.Errorf("%s is new: add what it tells, %+v", file, f)
		}
		for i, n := range f.list() {
			if n < want.list()[i] {
				t.Errorf("%s tells %+v, less than %+v", file, f, want)
				break
			}
		}
	}
	_ = w.Flush()
	t.Log("\n" + b.String())
}

func shapeName(t *testing.T, path string) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	return importer.ShapeName(bufio.NewReader(in))
}

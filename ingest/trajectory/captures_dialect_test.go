package trajectory

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type capture struct {
	sdk, version, scenario string
	llm, tools, agents     int
	usage, finish, defs    string
	traces                 []Trace
	truth                  runTruth
}

func (c capture) label() string { return c.sdk + " " + c.version }

// readCaptures reads the captures whose SDK begins with any of the words.
func readCaptures(t *testing.T, sdks ...string) []capture {
	manifest, err := os.ReadFile(filepath.Join(capturesDir, "MANIFEST.tsv"))
	if err != nil {
		t.Skipf("no captures here: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(manifest)), "\n")
	head := strings.Split(lines[0], "\t")
	var out []capture
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		cell := func(name string) string { return cells[slices.Index(head, name)] }
		if !slices.ContainsFunc(sdks, func(s string) bool { return strings.HasPrefix(cell("sdk"), s) }) {
			continue
		}
		c := capture{sdk: cell("sdk"), version: cell("version"), scenario: cell("scenario"), usage: cell("usage"), finish: cell("finish_reason"), defs: cell("tool_definitions")}
		c.llm, _ = strconv.Atoi(cell("llm_spans"))
		c.tools, _ = strconv.Atoi(cell("tool_spans"))
		c.agents, _ = strconv.Atoi(cell("agent_spans"))
		c.traces, c.truth = captured(t, c.sdk+"-"+c.version, c.scenario)
		out = append(out, c)
	}
	return out
}

// score counts how often something that the capture holds came out right.
type score struct{ right, of int }

func (s *score) add(ok bool) {
	s.of++
	if ok {
		s.right++
	}
}

func (s score) String() string { return fmt.Sprintf("%d/%d", s.right, s.of) }

// sdkScore is one row of the table: in how many captures the count of spans by role is the manifest's; of how many executed tools the name,
// arguments and result are those of the log; of how many model calls usage, finish reason and offered schemas are read.
type sdkScore struct{ models, tools, agents, names, args, results, usage, finish, offered score }

func (s *sdkScore) all() []score {
	return []score{s.models, s.tools, s.agents, s.names, s.args, s.results, s.usage, s.finish, s.offered}
}

var scoreNames = []string{"models", "tools", "agents", "names", "args", "results", "usage", "finish", "offered"}

// known is what the captures do not hold, or hold in a way that a single span cannot tell, as missing counts of a cell.
var known = map[string]int{
	"traceloop-langchain 0.27.0 agents": 22, // every runnable is a "workflow" to it; the root alone is the run
	"traceloop-langchain 0.27.0 names":  3,  // a tool that throws leaves the name of its class
	"traceloop-openai 0.16.1 usage":     3,  // streamed without usage
	"traceloop-openai 0.27.0 usage":     3,
	"laminar-openai 0.8.44 agents":      22, // its root names no kind; it is the run
}

// Facts per span must agree with the captures' manifest and with what really happened.
func TestCapturesFacts(t *testing.T) {
	table := map[string]*sdkScore{}
	var labels []string
	for _, c := range readCaptures(t, "openinference-", "openai-agents-openinference", "traceloop-", "vercel-ai", "laminar-") {
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

func scoreCapture(t *testing.T, c capture, row *sdkScore) {
	models, tools, agents := 0, 0, 0
	var runs []Facts
	for _, tr := range c.traces {
		for i := range tr.Spans {
			d := winner(&tr.Spans[i])
			if d == nil {
				continue
			}
			if tr.Spans[i].Attrs.Text("traceloop.span.kind") == "workflow" && tr.Spans[i].ParentID != "" {
				continue // a node around a call: Build folds the two, and the manifest counts the inner one
			}
			f := d.Read(&tr.Spans[i])
			switch f.Role {
			case RoleModel:
				models++
				if tr.Spans[i].Status == StatusError {
					break
				}
				if strings.HasPrefix(c.usage, "yes") {
					row.usage.add(f.Usage.Input != nil && f.Usage.Output != nil)
				}
				if strings.HasPrefix(c.finish, "yes") {
					row.finish.add(finishOf(f.FinishRaw) != "")
				}
				if c.defs == "schema" {
					row.offered.add(cmpOffered(f).hasSchema())
				}
			case RoleAgent:
				agents++
			case RoleTool:
				tools++
				runs = append(runs, f)
			}
		}
	}
	row.models.add(models == c.llm)
	row.tools.add(tools == c.tools)
	row.agents.add(agents == c.agents)
	if models != c.llm || tools != c.tools {
		t.Logf("%s %s: %d models of %d, %d tools of %d", c.label(), c.scenario, models, c.llm, tools, c.tools)
	}
	scoreRuns(t, c, runs, row)
}

// scoreRuns looks for every logged execution among the spans'. The log holds some that have no span: those are not counted.
func scoreRuns(t *testing.T, c capture, runs []Facts, row *sdkScore) {
	if len(runs) == 0 {
		return
	}
	for _, f := range runs {
		if absent(f.Arguments) {
			continue // rejected before it ran: the log does not have it
		}
		named, args, failed := false, false, false
		result := !f.HasResult
		for _, e := range c.truth.ToolLog {
			named = named || e.Name == f.ToolName
			if sameArgumentsAs(e.Args, f.Arguments) {
				args = true
				failed = failed || e.Outcome != "ok" || e.Result == nil
				result = result || sameJSON(e.Result, f.Result)
			}
		}
		row.names.add(named)
		row.args.add(args)
		if f.HasResult && !failed {
			row.results.add(result)
		}
		if !named || !args || !failed && !result {
			t.Logf("%s %s: tool %q arguments %s result %s", c.label(), c.scenario, f.ToolName, valueSketch(f.Arguments), valueSketch(f.Result))
		}
	}
}

// sameArgumentsAs is sameJSON, but for LangChain, which gives a tool of one parameter that parameter's bare value.
func sameArgumentsAs(want json.RawMessage, got Value) bool {
	if sameJSON(want, got) {
		return true
	}
	o := readObject(string(want))
	return len(o) == 1 && sameJSON(json.RawMessage(o[0].raw), got)
}

// sameJSON says whether a value is that of the log, where texts are logged as JSON strings.
func sameJSON(want json.RawMessage, got Value) bool {
	w := canonical(string(want))
	if got.JSON == nil {
		return string(w) == string(appendString(nil, got.Raw))
	}
	return string(w) == string(got.JSON)
}

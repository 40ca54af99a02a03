package trajectory

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

var updateFacts = flag.Bool("update-facts", false, "rewrite the facts in testdata/*/*.txtar")

// fixtureSpan is a span as the fixtures write it, one JSON object a line.
type fixtureSpan struct {
	Name    string         `json:"name"`
	Scope   string         `json:"scope"`
	Parent  string         `json:"parent"`
	Status  string         `json:"status"`
	Attrs   map[string]any `json:"attrs"`
	Comment string         `json:"//"`
}

func (f fixtureSpan) span(t testing.TB) *Span {
	s := &Span{ID: "0000000000000001", Name: f.Name, Scope: f.Scope, ParentID: f.Parent, Attrs: Attrs{}}
	switch f.Status {
	case "error":
		s.Status = StatusError
	case "ok":
		s.Status = StatusOK
	}
	for k, raw := range f.Attrs {
		v := pcommon.NewValueEmpty()
		if n, ok := raw.(json.Number); ok {
			raw = number(t, n)
		}
		if err := v.FromRaw(raw); err != nil {
			t.Fatal(err)
		}
		s.Attrs[k] = v
	}
	return s
}

func number(t testing.TB, n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func readFixtureSpans(t testing.TB, data []byte) []*Span {
	var out []*Span
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var f fixtureSpan
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.UseNumber()
		dec.DisallowUnknownFields()
		if err := dec.Decode(&f); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		out = append(out, f.span(t))
	}
	return out
}

// winner is the dialect that a span is read as.
func winner(s *Span) *Dialect {
	var best *Dialect
	score := 0
	for _, d := range dialects {
		if n := d.Score(s); n > score || n == score && n > 0 && d.Rank < best.Rank {
			best, score = d, n
		}
	}
	return best
}

// Every trap that a dialect must step over is one archive: the spans, and the facts that they state.
func TestDialectFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got, want strings.Builder
			facts := -1
			for i, f := range ar.Files {
				switch f.Name {
				case "spans":
					for _, s := range readFixtureSpans(t, f.Data) {
						d := winner(s)
						fmt.Fprintf(&got, "%s: %s\n%s", s.Name, d.Name, factsText(d.Read(s)))
					}
				case "facts":
					facts = i
					want.Write(f.Data)
				}
			}
			if *updateFacts {
				writeFacts(t, file, ar, facts, got.String())
				return
			}
			if got.String() != want.String() {
				t.Errorf("got\n%s\nwant\n%s\n(go test -run TestDialectFixtures -update-facts rewrites)", got.String(), want.String())
			}
		})
	}
}

func writeFacts(t *testing.T, file string, ar *txtar.Archive, at int, text string) {
	if at < 0 {
		ar.Files = append(ar.Files, txtar.File{Name: "facts"})
		at = len(ar.Files) - 1
	}
	ar.Files[at].Data = []byte(text)
	if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// factsText renders what is set of the facts, one a line.
func factsText(f Facts) string {
	f.readInput()
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if s := fmt.Sprintf(format, args...); s != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", name, strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n             "))
		}
	}
	line("role", "%s", f.Role)
	for _, p := range []struct{ name, text string }{
		{"agent", f.Agent}, {"session", f.SessionID}, {"user", f.UserID}, {"provider", f.Provider}, {"asked", f.ModelRequested},
		{"answered", f.ModelResponded}, {"response", f.ResponseID}, {"finish", f.FinishRaw}, {"system", f.System}, {"tool", f.ToolName},
		{"call", f.CallID}, {"failed", f.ToolError}, {"from", f.HandoffFrom}, {"to", f.HandoffTo}, {"said", f.UserText}, {"reply", f.Reply},
	} {
		line(p.name, "%s", p.text)
	}
	line("usage", "%s", usageText(f.Usage, f.InputExcludes))
	in := f.Input.messages()
	line("input", "%s", sketch(in))
	line("output", "%s", sketch(f.Output))
	if offered := cmpOffered(f); offered != nil {
		line("offered", "%s", cmp.Or(sketchTools(offered), "none"))
	}
	if f.Role == RoleTool {
		line("arguments", "%s %s", f.Arguments.Parsed, valueSketch(f.Arguments))
		line("result", "%v %s %s", f.HasResult, f.Result.Parsed, valueSketch(f.Result))
	}
	for _, fb := range f.Feedback {
		line("feedback", "%s %s", fb.Name, fb.Label)
	}
	if f.Denied {
		line("denied", "true")
	}
	if f.Hired {
		line("hired", "true")
	}
	if f.IfAsked {
		line("if asked", "true")
	}
	if f.Streamed {
		line("streamed", "true")
	}
	if f.Error != nil {
		line("error", "%s %d %s", f.Error.Type, f.Error.Code, f.Error.Message)
	}
	if len(f.Hidden) > 0 {
		line("hidden", "%v", f.Hidden)
	}
	return b.String()
}

func cmpOffered(f Facts) *ToolSet {
	if f.Offered == nil && f.OfferedText != "" {
		return ParseToolDefs(f.OfferedText)
	}
	return f.Offered
}

func usageText(u Usage, excludes bool) string {
	var parts []string
	for _, c := range []struct {
		name string
		n    *int64
	}{{"in", u.Input}, {"out", u.Output}, {"read", u.CacheRead}, {"write", u.CacheWrite}, {"reasoning", u.Reasoning}} {
		if c.n != nil {
			parts = append(parts, fmt.Sprintf("%s %d", c.name, *c.n))
		}
	}
	if u.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("cost %g", *u.CostUSD))
	}
	if excludes {
		parts = append(parts, "(input excludes cache)")
	}
	return strings.Join(slices.Clip(parts), ", ")
}

// Whatever text an attribute holds, every dialect reads the span without harm, and reads it twice the same.
func FuzzDialectValues(f *testing.F) {
	for _, c := range messageCases {
		f.Add(c.text)
	}
	for _, c := range toolDefCases {
		f.Add(c.text)
	}
	files, _ := filepath.Glob("testdata/*/*.txtar")
	var spans []*Span
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range ar.Files {
			if part.Name == "spans" {
				spans = append(spans, readFixtureSpans(f, part.Data)...)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := pcommon.NewValueStr(text)
		for _, fixed := range spans {
			s := *fixed
			s.Attrs = maps.Clone(fixed.Attrs)
			for k, v := range s.Attrs {
				if v.Type() == pcommon.ValueTypeStr && k != "openinference.span.kind" && k != "ai.operationId" && k != "gen_ai.operation.name" {
					s.Attrs[k] = value
				}
			}
			d := winner(&s)
			if once, again := factsText(d.Read(&s)), factsText(d.Read(&s)); once != again {
				t.Errorf("%s: two readings differ:\n%s\n%s", s.Name, once, again)
			}
		}
	})
}

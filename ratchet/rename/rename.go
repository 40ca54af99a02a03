// Package rename gives a tool, or a field of a tool's arguments, another name in whole cases: in what they expect, their fixtures, their tools
// and the recorded trace.
//
// It is a pure function of values, and the same for everyone: verify applies a stated rename to the cases of the base branch and holds the head
// to what comes out, so that a rename of a hundred cases is one reason and no loosening. A case's id, directory and fingerprint stay: they name
// the failure as it was recorded.
package rename

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// Apply gives a case and its recorded trace the new name. Both are unchanged where nothing of that name occurs in them; the parts of c are
// never written to. An error says that the trace is not JSON.
func Apply(n regcase.Rename, c regcase.Case, trace []byte) (regcase.Case, []byte, error) {
	w := &writer{n: n, schemas: map[string]string{}}
	renamed, err := w.document(trace)
	if err != nil {
		return c, trace, fmt.Errorf("case %s: %s: %w", c.ID, regcase.JSONFile, err)
	}
	c.Title = w.title(c.Title)
	c.Tools = w.tools(c.Tools)
	c.Fixtures = slices.Clone(c.Fixtures)
	for i := range c.Fixtures {
		f := &c.Fixtures[i]
		f.Arguments, f.Tool = w.arguments(f.Tool, f.Arguments), w.tool(f.Tool)
	}
	c.Expect = w.expect(c.Expect)
	c.Trace.SHA256 = regcase.SHA256(renamed)
	return c, renamed, nil
}

// Stub gives the team's answers for a tool the new name.
func Stub(n regcase.Rename, s regcase.Stubs) regcase.Stubs {
	w := &writer{n: n}
	s.Answers = slices.Clone(s.Answers)
	for i := range s.Answers {
		s.Answers[i].Arguments = w.arguments(s.Tool, s.Answers[i].Arguments)
	}
	s.Tool = w.tool(s.Tool)
	return s
}

// writer applies one rename. schemas maps the digest of each schema that it changed to that of the new one.
type writer struct {
	n       regcase.Rename
	schemas map[string]string
	depth   int
}

func (w *writer) whole() bool { return w.n.Field == "" }

// tool is what a tool is called now.
func (w *writer) tool(name string) string {
	if w.whole() && name == w.n.Tool {
		return w.n.To
	}
	return name
}

func (w *writer) title(s string) string {
	if !w.whole() {
		return s
	}
	return regexp.MustCompile(`(^|[^A-Za-z0-9_.-])`+regexp.QuoteMeta(w.n.Tool)+`($|[^A-Za-z0-9_.-])`).ReplaceAllString(s, "${1}"+strings.ReplaceAll(w.n.To, "$", "$$")+"${2}")
}

// arguments are those of a call of the named tool.
func (w *writer) arguments(tool string, args regcase.JSON) regcase.JSON {
	if w.whole() || tool != w.n.Tool || args == nil {
		return args
	}
	out, _ := moved(jsontext.Value(args), w.n.Field, w.n.To)
	return regcase.NewJSON(out)
}

func (w *writer) tools(in []regcase.Tool) []regcase.Tool {
	out := slices.Clone(in)
	for i := range out {
		t := &out[i]
		if !w.whole() && t.Name == w.n.Tool {
			if t.Schema != nil {
				t.Schema = regcase.NewJSON(w.schema(jsontext.Value(t.Schema)))
			}
			if t.SchemaSHA256 != nil && w.schemas[*t.SchemaSHA256] != "" {
				t.SchemaSHA256 = new(w.schemas[*t.SchemaSHA256])
			}
		}
		t.Name = w.tool(t.Name)
	}
	return out
}

func (w *writer) expect(e regcase.Expect) regcase.Expect {
	e.Never = slices.Clone(e.Never)
	for i := range e.Never {
		e.Never[i].Params, e.Never[i].Policy = w.words(e.Never[i].Params), w.words(e.Never[i].Policy)
	}
	e.Liveness.Calls = slices.Clone(e.Liveness.Calls)
	for i, name := range e.Liveness.Calls {
		e.Liveness.Calls[i] = w.tool(name)
	}
	if e.Trajectory == nil {
		return e
	}
	t := *e.Trajectory
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		call := &t.Calls[i]
		if !w.whole() && call.Tool == w.n.Tool {
			call.Arguments = w.pointers(call.Arguments)
		}
		call.Tool = w.tool(call.Tool)
	}
	e.Trajectory = &t
	return e
}

// pointers are the places of arguments that a call expects something of.
func (w *writer) pointers(in map[string]regcase.Field) map[string]regcase.Field {
	out := map[string]regcase.Field{}
	for _, p := range slices.Sorted(maps.Keys(in)) {
		to := p
		if rest, ok := strings.CutPrefix(p, w.n.Field); ok && (rest == "" || rest[0] == '/') {
			to = w.n.To + rest
		}
		out[to] = in[p]
	}
	return out
}

// words are the parameters and policy lines that a rule was frozen with: a tool's name in them is a text of its own; a field's stands in
// "same" beside the tool.
func (w *writer) words(j regcase.JSON) regcase.JSON {
	if j == nil {
		return nil
	}
	out, changed := w.value(jsontext.Value(j))
	if !changed {
		return j
	}
	return regcase.NewJSON(out)
}

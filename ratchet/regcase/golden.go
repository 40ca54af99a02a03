package regcase

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/classify"
)

// GoldenDir holds the cases that people write by hand, in the set: _golden/<any name>.yaml, or .json. No trace was recorded of them: they say in a
// few lines which tool a message calls for, and which none.
const GoldenDir = "_golden"

// GoldenKind is the kind of document that a file of such cases is.
const GoldenKind = "Golden"

// GoldenLabel is the label of every case that was written by hand.
const GoldenLabel = "golden"

// Goldens is a file of cases written by hand. What a case does not say may be left out.
type Goldens struct {
	APIVersion string   `json:"apiVersion" jsonschema:"required"`
	Kind       string   `json:"kind" jsonschema:"required"`
	Cases      []Golden `json:"cases" jsonschema:"required,minItems=1"`
}

// Golden is one case written by hand. It says one or more of what is expected; a run passes if all of it holds.
type Golden struct {
	Name      string            `json:"name" jsonschema:"required,minLength=1,maxLength=64"` // lower-case letters, digits, - and _; unique in the set: the case is golden-<name>
	Title     string            `json:"title"`                                               // one sentence; left out: the user's message
	Agent     string            `json:"agent"`                                               // service or agent that it is for, as gate.variance names it
	User      string            `json:"user"`                                                // the user's message; of several messages Turns
	Turns     []string          `json:"turns"`                                               // the user's messages in order, in place of User
	Variables map[string]string `json:"variables"`                                           // about the user, as the agent may look them up

	ExpectTool     string          `json:"expect_tool"`     // the tool that must be called; further calls are allowed
	ExpectArgs     map[string]JSON `json:"expect_args"`     // of that call, by name or JSON pointer: a value that must be equal, or {match: exact | ignore | number | pattern | semantic, value: ...}; further fields are allowed
	ExpectSequence []string        `json:"expect_sequence"` // tools that must be called in this order; others in between are allowed
	NoTool         bool            `json:"no_tool"`         // no tool may be called
	Reply          string          `json:"reply"`           // what the reply must mean
	Criteria       []Criterion     `json:"criteria"`        // plain sentences that the reply must fulfil; only those with judge: true are judged by a model

	Answers []GoldenAnswer `json:"answers"` // what tools answer
	State   string         `json:"state" jsonschema:"enum=,enum=pending,enum=enforced"`
	Runs    int            `json:"runs" jsonschema:"minimum=0,maximum=1000"` // 0: five
	Hard    bool           `json:"hard"`                                     // every run must pass, not four of five
}

// GoldenAnswer is what a tool answers in a case written by hand: to equal arguments, or to any if it names none.
type GoldenAnswer struct {
	Tool      string  `json:"tool" jsonschema:"required,minLength=1"`
	Arguments JSON    `json:"arguments"`
	Result    JSON    `json:"result"`
	Fault     *string `json:"fault" jsonschema:"enum=error,enum=denied,enum=timeout,enum=missing"`
}

// GoldenCase is a case written by hand as it lies in a set.
type GoldenCase struct {
	Path string // of its file, inside the set
	Golden
	Case Case // what it comes to
}

var goldenName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// DecodeGoldens reads a file of cases written by hand, YAML or JSON. Unlike a case it may leave fields out; what it does not know it refuses.
func DecodeGoldens(b []byte) (Goldens, error) {
	var f Goldens
	if _, err := decodeVersioned(b, &f, GoldenKind, nil); err != nil {
		return f, err
	}
	if len(f.Cases) == 0 || len(f.Cases) > maxList {
		return f, malformed(0, "/cases: %d cases, want 1 to %d", len(f.Cases), maxList)
	}
	for i, g := range f.Cases {
		if err := g.check(); err != nil {
			return f, malformed(0, "/cases/%d%v", i, err)
		}
		if slices.ContainsFunc(f.Cases[:i], func(o Golden) bool { return o.Name == g.Name }) {
			return f, malformed(0, "/cases/%d/name: %q is there twice", i, g.Name)
		}
	}
	return f, nil
}

func (g Golden) check() error {
	switch {
	case !goldenName.MatchString(g.Name):
		return fmt.Errorf("/name: %q is not of lower-case letters, digits, - and _ (at most 64)", g.Name)
	case (g.User == "") == (len(g.Turns) == 0):
		return fmt.Errorf("/user: say what the user says, by user or by turns")
	case slices.Contains(g.Turns, ""):
		return fmt.Errorf("/turns: a message is empty")
	case g.NoTool && (g.ExpectTool != "" || len(g.ExpectSequence) > 0):
		return fmt.Errorf("/no_tool: no tool may be called, and one is expected")
	case len(g.ExpectArgs) > 0 && g.ExpectTool == "":
		return fmt.Errorf("/expect_args: say of which tool, by expect_tool")
	case len(g.ExpectSequence) > 0 && g.ExpectTool != "" && !slices.Contains(g.ExpectSequence, g.ExpectTool):
		return fmt.Errorf("/expect_tool: %s is not in expect_sequence", g.ExpectTool)
	case slices.Contains(g.ExpectSequence, ""):
		return fmt.Errorf("/expect_sequence: a tool has no name")
	case !g.NoTool && g.ExpectTool == "" && len(g.ExpectSequence) == 0 && g.Reply == "" && len(g.Criteria) == 0:
		return fmt.Errorf(": nothing is expected: write expect_tool, expect_sequence, no_tool, reply or criteria")
	case g.State != "" && g.State != string(Pending) && g.State != string(Enforced):
		return oneOf("/state", g.State, string(Pending), string(Enforced))
	case g.Runs < 0 || g.Runs > 1000:
		return fmt.Errorf("/runs: %d runs, want 1 to 1000", g.Runs)
	}
	for i, a := range g.Answers {
		at := fmt.Sprintf("/answers/%d", i)
		if a.Tool == "" {
			return fmt.Errorf("%s/tool: the tool has no name", at)
		}
		if err := checkFault(at, a.Fault); err != nil {
			return err
		}
	}
	c := g.toCase()
	return c.checkExpect()
}

// toCase is the case that it stands for. It has no trace: it is run, never replayed.
func (g Golden) toCase() Case {
	c := Case{APIVersion: APIVersion, Kind: Kind, ID: GoldenLabel + "-" + g.Name, Title: g.Title, Form: string(classify.FormNever), Labels: []string{GoldenLabel},
		State: State{Name: Enforced}, Provenance: Provenance{Source: "human"}, Context: Context{Service: g.Agent},
		Input: Input{Mode: "recorded", Variables: g.Variables}, Runs: Runs{N: 5, Mode: "soft", Rate: 0.8}}
	if g.State != "" {
		c.State.Name = StateName(g.State)
	}
	if g.Runs > 0 {
		c.Runs.N = g.Runs
	}
	if g.Hard {
		c.Runs.Mode, c.Runs.Rate = "hard", 1
	}
	turns := g.Turns
	if g.User != "" {
		turns = []string{g.User}
	}
	for _, t := range turns {
		c.Input.Turns = append(c.Input.Turns, Turn{User: t})
	}
	if c.Title == "" && len(turns) > 0 {
		c.Title = shortTitle(turns[0])
	}
	for _, a := range g.Answers {
		c.Fixtures = append(c.Fixtures, Fixture{Tool: a.Tool, Arguments: a.Arguments, Result: a.Result, Fault: a.Fault, From: "healthy"})
	}
	c.Expect = Expect{Never: []Never{}, Liveness: Liveness{Reply: true, NoError: true, Calls: []string{}}, Trajectory: g.trajectory(), Criteria: g.Criteria}
	if g.Reply != "" {
		c.Expect.Response = &Response{Text: g.Reply, Threshold: 0.88}
	}
	return c
}

func (g Golden) trajectory() *Trajectory {
	mode, tools := "ordered", g.ExpectSequence
	switch {
	case g.NoTool:
		return &Trajectory{Mode: "exact", Calls: []ExpectedCall{}}
	case len(tools) == 0 && g.ExpectTool == "":
		return nil
	case len(tools) == 0:
		mode, tools = "superset", []string{g.ExpectTool}
	}
	out := &Trajectory{Mode: mode, Calls: []ExpectedCall{}}
	for i, tool := range tools {
		call := ExpectedCall{Tool: tool, Mode: "ignore", Arguments: map[string]Field{}}
		if tool == g.ExpectTool && i == slices.Index(tools, tool) {
			for name, want := range g.ExpectArgs {
				call.Arguments[pointer(name)] = fieldOf(want)
			}
		}
		out.Calls = append(out.Calls, call)
	}
	return out
}

// pointer is the JSON pointer of a field that is named, or written as one.
func pointer(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// fieldOf reads what a field must be: a value, or how one must match.
func fieldOf(want JSON) Field {
	var how struct {
		Match string `json:"match"`
		Value JSON   `json:"value"`
	}
	if json.Unmarshal(want, &how, json.RejectUnknownMembers(true)) == nil && how.Match != "" {
		return Field{how.Match, how.Value}
	}
	return Field{"exact", want}
}

// shortTitle is the beginning of a message, fit for one line.
func shortTitle(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return string(runes)
}

// goldens reads the cases written by hand.
func (r *reader) goldens() {
	for _, e := range r.list(GoldenDir) {
		name := path.Join(GoldenDir, e.Name())
		ext := path.Ext(name)
		if !e.Type().IsRegular() || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			r.stray(name, e, "it holds .yaml and .json files of kind "+GoldenKind)
			continue
		}
		cases, err := goldenFile(r.src, name)
		if err != nil {
			r.problem(name, err)
			continue
		}
		for _, g := range cases {
			if other, ok := r.set.Goldens[g.Case.ID]; ok {
				r.problem(name, fmt.Errorf("%w: the name %q is taken by %s", ErrMalformed, g.Name, other.Path))
				continue
			}
			r.set.Goldens[g.Case.ID] = g
		}
	}
}

func goldenFile(src fs.FS, name string) ([]GoldenCase, error) {
	b, err := readFile(src, name, MaxDocument)
	if err != nil {
		return nil, err
	}
	f, err := DecodeGoldens(b)
	if err != nil {
		return nil, err
	}
	return f.cases(name), nil
}

func (f Goldens) cases(name string) (out []GoldenCase) {
	for _, g := range f.Cases {
		out = append(out, NewGoldenCase(name, g))
	}
	return out
}

// NewGoldenCase is the case that one written by hand comes to, of the file of that name.
func NewGoldenCase(name string, g Golden) GoldenCase { return GoldenCase{name, g, g.toCase()} }

// GoldenCases reads a file of cases written by hand that lies outside of a set. name is what messages call it.
func GoldenCases(name string, b []byte) ([]GoldenCase, error) {
	f, err := DecodeGoldens(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f.cases(name), nil
}

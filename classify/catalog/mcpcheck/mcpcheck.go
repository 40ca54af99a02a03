// Package mcpcheck holds a team's MCP server to the protocol and to what its team declares of its tools: which versions it speaks, schemas, annotations, declared
// effects, the form of its errors, and what it answers to tools, arguments, methods and bytes that are not there or not right.
//
// It calls no tool that may write: wrong arguments go only to tools that are declared or annotated to read, and right ones only where the caller gives them.
package mcpcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify/catalog"
)

// Level says how grave a finding is.
type Level string

// The levels. Broken: the protocol forbids it, or it contradicts what is declared. Advice: the protocol advises against it, or it makes models call the tool wrongly.
const (
	Broken Level = "broken"
	Advice Level = "advice"
)

// Finding is one thing that a server does wrong.
type Finding struct {
	Check string `json:"check"` // see Checks
	Level Level  `json:"level"`
	Tool  string `json:"tool"` // "" of the server as a whole
	At    string `json:"at"`   // JSON pointer, "" for the whole
	What  string `json:"what"`
}

// Skipped is a check that could not be made, and why.
type Skipped struct {
	Check string `json:"check"`
	Tool  string `json:"tool"`
	Why   string `json:"why"`
}

// Report is what was found. It is good if no finding is Broken.
type Report struct {
	Server   string    `json:"server"`   // name@version, as it says
	Versions []string  `json:"versions"` // of the protocol that it was seen to speak
	Tools    int       `json:"tools"`
	Checked  []string  `json:"checked"`
	Findings []Finding `json:"findings"`
	Skipped  []Skipped `json:"skipped"`
}

// Checks are the checks in their order, each with what it asks.
var Checks = [][2]string{
	{"initialize", "answers initialize of 2025-11-25 with a version, capabilities and its name"},
	{"unknown-version", "answers a version that there is not with one that there is, or an error"},
	{"modern", "speaks 2026-07-28, or says that it does not; if it does, refuses versions that it does not know"},
	{"ping", "answers a ping"},
	{"notification", "answers no notification, also of a kind that it does not know"},
	{"malformed", "answers what is no message with an error, and goes on"},
	{"unknown-method", "answers a method that there is not with -32601"},
	{"list", "lists its tools to the end, each once, and refuses a cursor that it did not give"},
	{"names", "names tools by 1 to 128 letters, digits, _, - and ."},
	{"schemas", "gives schemas that are JSON Schema, of objects, and that something can satisfy"},
	{"annotations", "does not contradict itself in annotations"},
	{"effects", "agrees with the effects that are declared in pawl.yaml, or pinned in a file"},
	{"unknown-tool", "answers a tool that there is not with the error -32602"},
	{"wrong-arguments", "refuses arguments that the schema forbids, as a result with isError that the model can read"},
	{"results", "gives results of the form that it declares (for the calls that are given)"},
	{"origin", "refuses requests of pages elsewhere (HTTP)"},
	{"version-header", "refuses a version in the header that there is not (HTTP)"},
}

// Call is a call that is right, to look at its result.
type Call struct {
	Tool      string
	Arguments jsontext.Value
}

// Options of a check.
type Options struct {
	Declared []catalog.Tool // by the team: effects
	Pinned   []catalog.Tool // as they were; nil: nothing to compare with
	Calls    []Call
}

// ErrNoAnswer says that the server could not be reached, or ended before it said anything: nothing is decided.
var ErrNoAnswer = errors.New("no MCP server answers")

// Run checks the server that open connects to, anew for what must be asked of a fresh one.
func Run(ctx context.Context, open func(context.Context) (Wire, error), o Options) (Report, error) {
	c := &checking{Options: o, open: open, report: Report{Versions: []string{}, Checked: []string{}, Findings: []Finding{}, Skipped: []Skipped{}}}
	if err := c.handshake(ctx); err != nil {
		return c.report, err
	}
	defer c.wire.Close()
	for _, step := range []func(context.Context) error{c.talk, c.list, c.unknownTool, c.wrongArguments, c.results, c.versions, c.http} {
		if err := step(ctx); err != nil {
			return c.report, err
		}
	}
	c.judgeTools()
	rank := map[string]int{}
	for i, ch := range Checks {
		rank[ch[0]] = i
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.Level, b.Level), cmp.Compare(rank[a.Check], rank[b.Check]), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.At, b.At))
	})
	slices.SortStableFunc(c.report.Checked, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return c.report, nil
}

// Good reports whether nothing is broken.
func (r Report) Good() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Broken })
}

// checking is one run.
type checking struct {
	Options
	open   func(context.Context) (Wire, error)
	wire   Wire // initialized
	report Report
	tools  []offered
	ids    int
}

func (c *checking) say(level Level, check, tool, at, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{check, level, tool, at, fmt.Sprintf(format, args...)})
}

func (c *checking) did(check string) {
	if !slices.Contains(c.report.Checked, check) {
		c.report.Checked = append(c.report.Checked, check)
	}
}

func (c *checking) skip(check, tool, why string) {
	c.report.Skipped = append(c.report.Skipped, Skipped{check, tool, why})
}

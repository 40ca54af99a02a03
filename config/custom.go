package config

import (
	"os"
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Custom is a rule of the team's own. When and Evidence are CEL expressions over t, the trajectory; what they may use is listed by pawl rules view.
type Custom struct {
	Name     string   `yaml:"name" required:"true" doc:"names the rule, and the folder of its testdata"`
	Version  int      `yaml:"version" min:"1" doc:"raise it with every change of what matches"`
	Label    string   `yaml:"label" null:"the name" doc:"the failure category of its findings"`
	Severity Severity `yaml:"severity" doc:"of its findings: blocking ones are absorbed, warnings make a trace fail, info changes nothing"`
	Form     Form     `yaml:"form" doc:"never: a case asserts that the rule does not match; none: its findings are grouped and never made cases"`
	When     string   `yaml:"when" required:"true" doc:"CEL that is true when the trace t has the failure"`
	Evidence string   `yaml:"evidence" required:"true" doc:"CEL that lists the tool calls, model calls, hand-offs or steps that show it, the one where it went wrong first"`
	Why      string   `yaml:"why" required:"true" doc:"one sentence; {count}, {tool}, {tools} and {agent} stand for what the evidence names"`
	Fix      string   `yaml:"fix" null:"none" doc:"what to change in an agent that has it"`
	Session  bool     `yaml:"session" doc:"also judge the traces of a session as one: what its evidence shows in two traces or more; its testdata are recorded traces"`
	Needs    []string `yaml:"needs" doc:"facts without which the rule is inapplicable, beside those that its expressions read"`
}

func (c *Custom) setDefaults() {
	c.Version, c.Severity, c.Form, c.Needs = 1, SeverityWarning, FormNever, []string{"whole_trace"}
}

// Locate gives a problem that somebody else found its place in the file at path. Its Line and Column count from 1 within the text that
// stands behind its Key, or are 0 for the whole of it. Where the place cannot be told that of the nearest section around it is given.
func Locate(path string, p Problem) Problem {
	data, err := os.ReadFile(path)
	if err != nil {
		return p
	}
	d := newDecoder(path, data, false)
	var cfg = Default()
	if root := d.document(data); root != nil {
		d.value(root, reflect.ValueOf(&cfg).Elem(), field{})
	}
	p.File = path
	p.Line, p.Column, p.pointed = d.within(p.Key, p.Line, p.Column)
	p.Source = d.shown(p.Line)
	return p
}

// within turns a place in a text into one in the file. Only a text on one line, or one behind | is laid out in the file as it is read.
func (d *decoder) within(key string, line, column int) (int, int, bool) {
	n, ok := d.texts[key]
	if !ok {
		at := d.place(key)
		if at == nil || at.Position == nil {
			return 0, 0, false
		}
		return at.Position.Line, at.Position.Column, false
	}
	at := n.GetToken()
	if block, ok := n.(*ast.LiteralNode); ok && block.Start.Value != "" && line > 0 {
		first := block.Start.Position.Line + 1
		return first + line - 1, column + d.indentOf(first), block.Start.Value[0] == '|'
	}
	if at.Type == token.SingleQuoteType || at.Type == token.DoubleQuoteType {
		column++
	}
	return at.Position.Line, at.Position.Column + max(0, column-1), line == 1
}

// indentOf is how far line n of the file is indented, in bytes.
func (d *decoder) indentOf(n int) int {
	if n < 1 || n > len(d.lines) {
		return 0
	}
	line := d.lines[n-1]
	for i := range len(line) {
		if line[i] != ' ' {
			return i
		}
	}
	return len(line)
}

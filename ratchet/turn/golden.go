package turn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/rename"
)

// renamedGoldens gives the files of cases written by hand the new name, at the very places where it stands: comments, order and quotes stay. Each is read
// back, and is an error where it does not say just that.
func renamedGoldens(src fs.FS, set regcase.Set, n regcase.Rename) (out []Change, err error) {
	var files []string
	for _, g := range set.Goldens {
		was, is := goldenBytes(g.Golden), goldenBytes(rename.Golden(n, g.Golden))
		if bytes.Equal(was, is) {
			continue // it does not know the name, or a person has given it the new one
		}
		if back := rename.Golden(inverse(n), g.Golden); !bytes.Equal(goldenBytes(back), was) {
			return nil, inUse(n, g.Case.ID)
		}
		files = append(files, g.Path)
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		b, err := fs.ReadFile(src, file)
		if err != nil {
			return nil, err
		}
		if b, err = renamedGolden(b, n); err != nil {
			return nil, fmt.Errorf("%s: %w: write the new name there by hand, then migrate", file, err)
		}
		out = append(out, Change{Path: file, Data: b})
	}
	return out, nil
}

func goldenBytes(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return []byte(err.Error()) // equal to itself alone
	}
	return b
}

var errOtherwise = errors.New("the name stands there in a way that is not known")

func renamedGolden(b []byte, n regcase.Rename) ([]byte, error) {
	want, err := regcase.DecodeGoldens(b)
	if err != nil {
		return nil, err
	}
	for i, g := range want.Cases {
		want.Cases[i] = rename.Golden(n, g)
	}
	file, err := parser.ParseBytes(b, 0)
	if err != nil || len(file.Docs) != 1 {
		return nil, errOtherwise
	}
	e := &nameEdits{n: n}
	for _, c := range items(field(file.Docs[0].Body, "cases")) {
		e.golden(c)
	}
	out, ok := e.apply(string(b))
	got, err := regcase.DecodeGoldens([]byte(out))
	if !ok || err != nil || !bytes.Equal(goldenBytes(got), goldenBytes(want)) {
		return nil, errOtherwise
	}
	return []byte(out), nil
}

// nameEdits are the places of a file where the old name stands.
type nameEdits struct {
	n  regcase.Rename
	at []nameEdit
}

type nameEdit struct {
	line, column int // from 1
	old, new     string
}

func (e *nameEdits) golden(c ast.Node) {
	whole := e.n.Field == ""
	if whole {
		e.name(field(c, "expect_tool"))
		for _, s := range items(field(c, "expect_sequence")) {
			e.name(s)
		}
	} else if text(field(c, "expect_tool")) == e.n.Tool {
		for _, kv := range entries(field(c, "expect_args")) {
			e.to(kv.Key, rename.ArgumentName(e.n, text(kv.Key)))
		}
	}
	for _, a := range items(field(c, "answers")) {
		if whole {
			e.name(field(a, "tool"))
		} else if text(field(a, "tool")) == e.n.Tool {
			e.argument(field(a, "arguments"))
		}
	}
}

func (e *nameEdits) name(n ast.Node) {
	if text(n) == e.n.Tool {
		e.to(n, e.n.To)
	}
}

// argument renames the member that the pointer names, where only its last part changes.
func (e *nameEdits) argument(args ast.Node) {
	from, to := strings.Split(e.n.Field, "/")[1:], strings.Split(e.n.To, "/")[1:]
	last := len(from) - 1
	if len(to) != len(from) || !slices.Equal(from[:last], to[:last]) {
		return
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~").Replace
	for _, part := range from[:last] {
		args = field(args, unescape(part))
	}
	for _, kv := range entries(args) {
		if text(kv.Key) == unescape(from[last]) {
			e.to(kv.Key, unescape(to[last]))
		}
	}
}

func (e *nameEdits) to(n ast.Node, name string) {
	if old := text(n); old != name {
		at := n.GetToken().Position
		e.at = append(e.at, nameEdit{at.Line, at.Column, old, name})
	}
}

// apply writes the new name; ok is false where the old one does not stand in a place as it is written.
func (e *nameEdits) apply(s string) (out string, ok bool) {
	lines := strings.SplitAfter(s, "\n")
	slices.SortFunc(e.at, func(a, b nameEdit) int { return 2*(b.line-a.line) + compare(b.column, a.column) })
	for _, edit := range e.at {
		if edit.line < 1 || edit.line > len(lines) {
			return "", false
		}
		runes := []rune(lines[edit.line-1])
		from := min(max(0, edit.column-2), len(runes))
		i := strings.Index(string(runes[from:]), edit.old)
		if i < 0 || i > 2 { // a quote may stand before it
			return "", false
		}
		rest := string(runes[from:])
		lines[edit.line-1] = string(runes[:from]) + rest[:i] + edit.new + rest[i+len(edit.old):]
	}
	return strings.Join(lines, ""), true
}

func compare(a, b int) int { return min(1, max(-1, a-b)) }

// field is the value of a member, nil where there is none.
func field(n ast.Node, name string) ast.Node {
	for _, kv := range entries(n) {
		if text(kv.Key) == name {
			return kv.Value
		}
	}
	return nil
}

func entries(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return nil
}

// text is the text of a scalar, "" of anything else.
func text(n ast.Node) string {
	if n == nil {
		return ""
	}
	if s, ok := n.(ast.ScalarNode); ok {
		return s.GetToken().Value
	}
	return ""
}

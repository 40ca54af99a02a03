package regcase

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// ErrMalformed says that a file is not the plain YAML that a set is written in, or not what its kind of document must be.
var ErrMalformed = errors.New("malformed")

func malformed(line int, format string, args ...any) error {
	at := ""
	if line > 0 {
		at = fmt.Sprintf("line %d: ", line)
	}
	return fmt.Errorf("%w: %s%s", ErrMalformed, at, fmt.Sprintf(format, args...))
}

// maxDepth bounds nesting: the YAML parser recurses, and a stack that overflows cannot be caught.
const maxDepth = 64

// document reads one YAML document of plain parts and returns its tree, which yields JSON: what is written is what is meant, to every reader.
// Anchors, aliases, merge keys, tags, directives, further documents and repeated keys are refused.
func document(b []byte) (doc ast.Node, err error) {
	defer func() {
		if recover() != nil { // the library's own fault on hostile input; the input stays refused
			doc, err = nil, malformed(0, "this is not YAML that can be read")
		}
	}()
	if len(b) > MaxDocument {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, MaxDocument>>20)
	}
	if err := plainText(b); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(b))
	if err := plainTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntax(err)
	}
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if doc != nil {
			return nil, malformed(lineOf(d.Body), "a second document begins: a file holds one, without a further ---")
		}
		doc = d.Body
	}
	if doc == nil {
		return nil, malformed(0, "it is empty")
	}
	return doc, nil
}

// plainText refuses bytes under which two readers may see two texts.
func plainText(b []byte) error {
	if len(b) >= 3 && string(b[:3]) == "\xef\xbb\xbf" {
		return malformed(1, "it begins with a byte order mark: save it as UTF-8 without one")
	}
	line := 1
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return malformed(line, "it is not UTF-8")
		case r == '\n':
			line++
		case r == '\r':
			return malformed(line, "a carriage return: lines end in a line feed alone (of git: `*.yaml text eol=lf` in .gitattributes)")
		case r < ' ' && r != '\t', r == 0x7f, r >= 0x80 && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff:
			return malformed(line, "the character U+%04X, which does not show: write it as an escape in double quotes", r)
		}
		i += n
	}
	return nil
}

// refused are the parts of YAML that make a file mean something else than it shows.
var refused = map[token.Type]string{
	token.AnchorType:         "anchors are not used here: write the value out, or put one that begins with & in quotes",
	token.AliasType:          "aliases are not used here: write the value out, or put one that begins with * in quotes",
	token.MergeKeyType:       "merge keys are not used here: write the keys out",
	token.TagType:            "tags are not used here: leave it out, or put a value that begins with ! in quotes",
	token.DirectiveType:      "directives are not used here: leave the line out",
	token.MappingKeyType:     "keys with ? are not used here: write key: value",
	token.DocumentHeaderType: "a file holds one document, without ---",
	token.DocumentEndType:    "a file holds one document, without ...",
}

func plainTokens(tokens token.Tokens) error {
	depth, run := 0, 0
	for _, tk := range tokens {
		line := 0
		if tk.Position != nil {
			line = tk.Position.Line
		}
		if why, ok := refused[tk.Type]; ok {
			return malformed(line, "%s", why)
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.InvalidType:
			return malformed(line, "YAML syntax: %s", strings.ReplaceAll(tk.Error, "\t", `\t`))
		}
		if tk.Type == token.SequenceEntryType {
			run++
		} else {
			run = 0
		}
		if depth > maxDepth || run > maxDepth || tk.Position != nil && tk.Position.IndentNum > 4*maxDepth {
			return malformed(line, "nested more than %d deep", maxDepth)
		}
	}
	return nil
}

func syntax(err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		line := 0
		if tk := e.GetToken(); tk != nil && tk.Position != nil {
			line = tk.Position.Line
		}
		return malformed(line, "YAML syntax: %s", strings.Join(strings.Fields(strings.ReplaceAll(e.GetMessage(), "\t", `\t`)), " "))
	}
	return malformed(0, "YAML syntax: %s", strings.Join(strings.Fields(err.Error()), " "))
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// toJSON appends the JSON of a tree: numbers keep their spelling, and what JSON cannot say is refused.
func toJSON(b []byte, n ast.Node, depth int) ([]byte, error) {
	if depth > 2*maxDepth {
		return nil, malformed(lineOf(n), "nested more than %d deep", maxDepth)
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return mappingJSON(b, v.Values, depth)
	case *ast.MappingValueNode:
		return mappingJSON(b, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		return sequenceJSON(b, v, depth)
	case *ast.LiteralNode:
		return jsontext.AppendQuote(b, v.Value.Value)
	case *ast.StringNode:
		if v.Token.Type == token.DoubleQuoteType || v.Token.Type == token.SingleQuoteType {
			return jsontext.AppendQuote(b, v.Value)
		}
		return plainJSON(b, n, v.Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return plainJSON(b, n, n.GetToken().Value)
	case nil:
		return append(b, "null"...), nil
	}
	return nil, malformed(lineOf(n), "%s is not used here", strings.ToLower(n.Type().String()))
}

// plainJSON appends a value that stands without quotes. One that readers of YAML understand in different ways is refused.
func plainJSON(b []byte, n ast.Node, text string) ([]byte, error) {
	switch _, isText := n.(*ast.StringNode); {
	case text == "null" || text == "true" || text == "false", isNumber(text):
		return append(b, text...), nil
	case isText && !words.MatchString(text):
		return jsontext.AppendQuote(b, text)
	case text == "" && n.Type() == ast.NullType:
		return append(b, "null"...), nil
	}
	return nil, malformed(lineOf(n), "%q: write null, true, false and numbers as JSON does, and texts in quotes", text)
}

func isNumber(text string) bool {
	return jsontext.Value(text).Kind() == '0' && jsontext.Value(text).IsValid()
}

func mappingJSON(b []byte, pairs []*ast.MappingValueNode, depth int) ([]byte, error) {
	seen := make(map[string]bool, len(pairs))
	b = append(b, '{')
	for i, p := range pairs {
		name, err := keyOf(p)
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, malformed(lineOf(p.Key), "the key %q is there twice", name)
		}
		seen[name] = true
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = jsontext.AppendQuote(b, name); err != nil {
			return nil, err
		}
		if b, err = toJSON(append(b, ':'), p.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// keyOf gives the name of a pair: a number or a word such as null is a name here too.
func keyOf(p *ast.MappingValueNode) (string, error) {
	switch k := p.Key.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, nil
	}
	return "", malformed(lineOf(p.Key), "a key must be a name")
}

func sequenceJSON(b []byte, seq *ast.SequenceNode, depth int) ([]byte, error) {
	b = append(b, '[')
	for i, item := range seq.Values {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = toJSON(b, item, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// explain says where in the YAML a value is that does not fit, and what it was to be.
func explain(doc ast.Node, err error) error {
	s, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return malformed(0, "%v", err)
	}
	line, at := nodeAt(doc, s.JSONPointer), string(s.JSONPointer)
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return malformed(line, "unknown key %q", at)
	case s.Err != nil:
		return malformed(line, "%s: %v", at, s.Err)
	}
	return malformed(line, "%s is %s, which does not fit", at, kindName(s.JSONKind))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a text"
	case '0':
		return "a number (put a text in quotes)"
	case '{':
		return "a mapping"
	case '[':
		return "a list"
	}
	return "something"
}

// nodeAt returns the line of the value that a pointer names, or of the nearest that is there.
func nodeAt(n ast.Node, p jsontext.Pointer) int {
	line := lineOf(n)
	for tok := range p.Tokens() {
		var next ast.Node
		switch v := n.(type) {
		case *ast.MappingNode:
			for _, pair := range v.Values {
				if name, err := keyOf(pair); err == nil && name == tok {
					next, line = pair.Value, lineOf(pair.Key)
				}
			}
		case *ast.SequenceNode:
			if i, err := strconv.Atoi(tok); err == nil && i >= 0 && i < len(v.Values) {
				next = v.Values[i]
				line = lineOf(next)
			}
		}
		if next == nil {
			return line
		}
		n = next
	}
	return line
}

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxFile  = 1 << 20
	maxDepth = 64 // of nesting: the YAML parser recurses
)

// Load reads and checks the file at path. Mistakes in it come back as [Problems]; relative paths of secrets are taken
// from the file's directory.
func Load(path string) (Config, error) { return load(path, true) }

// LoadOffline is Load for commands that talk to nobody: secrets are checked in form and not resolved, so that a
// machine without them, such as a CI job, can use the policy, the catalog and the rules of the same file.
func LoadOffline(path string) (Config, error) { return load(path, false) }

// LoadAlone is LoadOffline of a file without the rules directory beside it.
func LoadAlone(path string) (Config, error) {
	data, err := read(path)
	if err != nil {
		return Config{}, err
	}
	return parse(path, data, false)
}

func load(path string, resolve bool) (Config, error) {
	data, err := read(path)
	if err != nil {
		return Config{}, err
	}
	return parseWith(path, data, resolve, os.DirFS(filepath.Dir(path)))
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if info.IsDir() || info.Size() > maxFile {
		return nil, fmt.Errorf("reading the configuration: %s is not a file of at most %d bytes", path, maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	return data, nil
}

// Parse checks data and returns it laid over [Default]. name stands in the problems and its directory is where
// relative paths of secrets start. The error, if any, is [Problems].
func Parse(name string, data []byte) (Config, error) { return parse(name, data, true) }

// ParseOffline is Parse for commands that talk to nobody: secrets are checked in form and not resolved.
func ParseOffline(name string, data []byte) (Config, error) { return parse(name, data, false) }

func parse(name string, data []byte, resolve bool) (Config, error) {
	return parseWith(name, data, resolve, nil)
}

// parseWith is parse that adds the rules of the rules directory in fsys, unless that is nil.
func parseWith(name string, data []byte, resolve bool, fsys fs.FS) (Config, error) {
	d := newDecoder(name, data, resolve)
	cfg := Default()
	if root := d.document(data); root != nil {
		d.value(root, reflect.ValueOf(&cfg).Elem(), field{})
	}
	if dir := cfg.RulesDir; dir != "" && !fs.ValidPath(path.Clean(dir)) {
		d.report("rules_dir", d.place("rules_dir"), "`rules_dir` does not lie below the directory of this file", "a relative path with slashes, such as pawl-rules")
	} else if fsys != nil && len(d.problems) == 0 {
		var err error
		if cfg, err = cfg.WithRules(fsys, filepath.ToSlash(filepath.Dir(name))); err != nil {
			return Config{}, err
		}
	}
	if len(d.problems) == 0 {
		for _, c := range cfg.conflicts() {
			d.report(c.key, d.place(c.key), c.message, c.advice)
		}
	}
	if len(d.problems) == 0 {
		return cfg, nil
	}
	return Config{}, d.shownProblems()
}

func newDecoder(name string, data []byte, resolve bool) *decoder {
	return &decoder{name: name, dir: filepath.Dir(name), resolve: resolve, lines: strings.Split(string(data), "\n"),
		places: map[string]*token.Token{}, texts: map[string]ast.Node{}}
}

// maxProblems bounds the report of a file that is no configuration at all.
const maxProblems = 50

// shownProblems returns the problems in the order of the file, with their lines.
func (d *decoder) shownProblems() Problems {
	ps := d.problems.sorted()
	if more := len(ps) - maxProblems; more > 0 {
		ps = append(ps[:maxProblems:maxProblems], Problem{File: d.name, Message: fmt.Sprintf("%s has %d more mistakes", d.name, more)})
	}
	for i := range ps {
		ps[i].Source = d.shown(ps[i].Line)
	}
	return ps
}

// document returns the root mapping of the only document, or nil if the file is empty or a problem was reported.
func (d *decoder) document(data []byte) ast.Node {
	if len(data) > maxFile || !utf8.Valid(data) {
		d.report("", nil, d.name+" is not a UTF-8 text of at most 1MiB", "")
		return nil
	}
	tokens, err := tokenize(string(data))
	if err == nil && !d.plainTokens(tokens) {
		return nil
	}
	var file *ast.File
	if err == nil {
		file, err = parseTokens(tokens)
	}
	if err != nil {
		d.syntax(err)
		return nil
	}
	return d.onlyDocument(file)
}

func (d *decoder) onlyDocument(file *ast.File) ast.Node {
	var root ast.Node
	for _, doc := range file.Docs {
		body := doc.Body
		if body == nil || body.Type() == ast.CommentType || body.Type() == ast.NullType {
			continue
		}
		if root != nil {
			d.report("", body.GetToken(), "a second document begins", "write one document, without a second ---")
			return nil
		}
		root = body
	}
	return root
}

// refused are the parts of YAML that make a file mean something else than it shows.
var refused = map[token.Type][2]string{
	token.AnchorType:     {"anchors are not used here", "write the value out; put a value that begins with & in quotes"},
	token.AliasType:      {"aliases are not used here", "write the value out; put a value that begins with * in quotes"},
	token.MergeKeyType:   {"merge keys are not used here", "write the keys out"},
	token.TagType:        {"tags are not used here", "leave it out; put a value that begins with ! in quotes"},
	token.DirectiveType:  {"directives are not used here", "leave the line out"},
	token.MappingKeyType: {"keys with ? are not used here", "write `key: value`"},
}

// plainTokens reports every refused part of YAML, and nesting that is too deep for the parser.
func (d *decoder) plainTokens(tokens token.Tokens) bool {
	depth, run := 0, 0
	for _, tk := range tokens {
		if why, ok := refused[tk.Type]; ok {
			d.report("", tk, why[0], why[1])
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		}
		if tk.Type == token.SequenceEntryType {
			run++
		} else {
			run = 0
		}
		if depth > maxDepth || run > maxDepth {
			d.report("", tk, fmt.Sprintf("nested more than %d deep", maxDepth), "")
			return false
		}
	}
	return len(d.problems) == 0
}

var errUnreadable = errors.New("this is not YAML that can be read")

// tokenize guards against a panic of the YAML library, which must not end a long-running program on bad input.
func tokenize(text string) (tokens token.Tokens, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return lexer.Tokenize(text), nil
}

func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errUnreadable
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func (d *decoder) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok {
		d.report("", e.GetToken(), "YAML syntax: "+oneLine(strings.ReplaceAll(e.GetMessage(), "\t", `\t`)), "")
		return
	}
	d.report("", nil, d.name+": "+oneLine(err.Error()), "")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// written finds what stands behind a secret's key, so that the report of another mistake in its line does not spread it.
var written = regexp.MustCompile(`(?i)((?:secret|tokens?|password|api_key)["']?\s*:\s*["'\[]*)([^\s"'{}\[][^,}"']*)`)

// shown returns line n of the file as a report may show it.
func (d *decoder) shown(n int) string {
	if n < 1 || n > len(d.lines) {
		return ""
	}
	line := strings.TrimRight(d.lines[n-1], "\r")
	line = line[:min(len(line), 4*maxShown)]
	line = written.ReplaceAllStringFunc(line, func(found string) string {
		m := written.FindStringSubmatch(found)
		if strings.HasPrefix(m[2], "${") {
			return found
		}
		return m[1] + hidden
	})
	for _, s := range d.literals {
		line = strings.ReplaceAll(line, s, hidden)
	}
	return cutLine(line)
}

func (d *decoder) report(key string, at *token.Token, message, advice string) {
	p := Problem{File: d.name, Key: key, Message: message, Advice: advice}
	if at != nil && at.Position != nil {
		p.Line, p.Column = at.Position.Line, at.Position.Column
	}
	d.problems = append(d.problems, p)
}

// maxShown is how much of a line a report shows, in bytes.
const maxShown = 160

func cutLine(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + " ..."
}

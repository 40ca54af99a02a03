// Package test holds the tests that look at the repository as a whole.
package test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pawl-dev/pawl"

// layer says which of our packages one of our packages may import; a pattern that ends in /... also covers what lies below.
type layer struct {
	pkg     string
	imports []string
}

// layers is the architecture: the first line that matches a package holds for it. Arrows point from the loops and
// commands to the pure core, and trajectory, ghpr, config and redact know nothing of the rest. Tests are free.
var layers = []layer{
	{"cmd/pawl", []string{"..."}},
	{"config", nil},

	{"ingest/otlp/wire", nil},
	{"ingest/otlp", []string{"ingest/otlp/wire"}},
	{"ingest/trajectory", nil},
	{"ingest/importer", []string{"ingest/otlp/wire", "ingest/trajectory"}},
	{"ingest/queue", []string{"ingest/otlp/wire"}},
	{"ingest/assemble", []string{"ingest/trajectory", "ingest/queue", "ingest/otlp/wire"}},
	{"ingest/home", []string{"ingest/importer", "ingest/otlp/wire"}},
	{"ingest/flag", nil},
	{"ingest/webhook", []string{"ingest/flag"}},
	{"ingest", []string{"ingest/..."}},

	{"classify/catalog", []string{"ingest/trajectory"}},
	{"classify/effect", []string{"classify/catalog", "ingest/trajectory"}},
	{"classify/order", []string{"classify/catalog", "classify/effect", "ingest/trajectory"}},
	{"classify/baseline", []string{"classify/order", "ingest/trajectory"}},
	{"classify/catalog/mcptools", []string{"classify/catalog"}},
	{"classify/catalog/mcpcheck", []string{"classify/catalog"}},
	{"classify/price", []string{"ingest/trajectory"}},
	{"classify/change", []string{"classify", "classify/catalog", "ingest/trajectory"}},
	{"classify/rule", []string{"classify", "classify/effect", "classify/order", "classify/change", "classify/catalog", "classify/baseline", "ingest/trajectory"}},
	{"classify/fixture", []string{"classify", "classify/catalog", "classify/baseline", "classify/internal/texttraj", "ingest/trajectory"}},
	{"classify/custom", []string{"classify", "classify/change", "classify/catalog", "ingest/trajectory"}},
	{"classify/propose", []string{"classify", "classify/custom", "classify/catalog", "classify/fixture", "ingest/trajectory"}},
	{"classify/sight", []string{"classify", "ingest/trajectory"}},
	{"classify/lineage", []string{"classify", "ingest/trajectory"}},
	{"classify/judge/llm/...", nil},
	{"classify/judge", []string{"classify", "classify/judge/llm", "ingest/trajectory"}},
	{"classify/triage/mcp", nil},
	{"classify/triage/notify", []string{"classify", "ingest/queue", "ratchet"}},
	{"classify/triage", []string{"classify", "classify/propose", "classify/sight", "classify/lineage", "ratchet", "ratchet/regcase", "ingest/trajectory", "ingest/flag", "ghpr"}},
	{"classify/internal/texttraj", []string{"ingest/trajectory"}},
	{"classify", []string{"ingest/trajectory", "classify/catalog", "classify/baseline", "classify/price"}},

	{"ratchet/redact", nil},
	{"ratchet/regcase", []string{"classify", "ingest/trajectory", "ratchet/redact"}},
	{"ratchet/regcase/casetest", []string{"classify", "ratchet/regcase"}},
	{"ratchet/rename", []string{"ratchet/regcase"}},
	{"ratchet/turn", []string{"classify", "ratchet/redact", "ratchet/regcase", "ratchet/rename", "ratchet/verify"}},
	{"ratchet/click", []string{"ratchet/regcase", "ratchet/gate", "ratchet/verify"}},
	{"ratchet/export", []string{"ratchet/regcase"}},
	{"ratchet/record", []string{"ingest/trajectory", "ratchet/redact"}},
	{"ratchet/match", []string{"ratchet/regcase", "classify", "classify/catalog", "ingest/trajectory"}},
	{"ratchet/match/embed", nil},
	{"ratchet/oracle", []string{"ratchet/regcase", "ratchet/match", "classify", "classify/catalog", "classify/baseline", "classify/custom", "classify/effect", "classify/price", "ingest/trajectory"}},
	{"ratchet/verify/gitfs", nil},
	{"ratchet/verify", []string{"ratchet/regcase", "ratchet/rename", "ratchet/match", "ratchet/oracle", "ratchet/record", "classify", "classify/catalog", "ingest/trajectory"}},
	{"ratchet/gate", []string{"ratchet/regcase", "ratchet/record", "ratchet/match", "ratchet/oracle", "classify", "classify/catalog", "ingest/trajectory", "ingest/otlp", "ingest/otlp/wire"}},
	{"ratchet/gate/...", nil},
	{"ratchet/admit", []string{"ratchet/regcase", "ratchet/oracle", "classify", "classify/catalog", "classify/change", "classify/custom", "ingest/trajectory"}},
	{"ratchet", []string{"ratchet/...", "classify", "classify/catalog", "classify/baseline", "classify/order", "classify/sight", "classify/lineage", "classify/judge", "classify/judge/llm", "ingest/trajectory", "ingest/queue", "ingest/flag", "ghpr"}},

	{"ghpr/github", nil},
	{"ghpr/hook", nil},
	{"ghpr", []string{"ghpr/github"}},

	{"test/fakegithub", nil},
	{"test/...", []string{"..."}},
}

func TestImports(t *testing.T) {
	seen := 0
	walkGo(t, func(file string) {
		seen++
		for _, imported := range importsOf(t, file) {
			if why := refuse(file, imported); why != "" {
				t.Errorf("%s: %s", file, why)
			}
		}
	})
	if seen < 10 {
		t.Errorf("only %d Go files were seen", seen)
	}
}

// refuse says why file, a slash-separated path below the repository's root, may not import imported; "" if it may.
// What a test imports is its own business, but its package must have a place.
func refuse(file, imported string) string {
	pkg, isTest := path.Dir(file), strings.HasSuffix(file, "_test.go")
	i := slices.IndexFunc(layers, func(l layer) bool { return covers(l.pkg, pkg) })
	if i < 0 && imported != "" {
		return "" // said once a file
	}
	if i < 0 {
		return fmt.Sprintf("package %s has no line in the import table", pkg)
	}
	if imported == "testing" && !isTest {
		return "testing belongs into _test.go files"
	}
	ours, ok := strings.CutPrefix(imported, module+"/")
	if !ok || isTest {
		return ""
	}
	if !slices.ContainsFunc(layers[i].imports, func(pattern string) bool { return covers(pattern, ours) }) {
		return fmt.Sprintf("%s may not import %s; it may import %v", pkg, ours, layers[i].imports)
	}
	return ""
}

// covers reports whether pattern is pkg or, ending in /..., is pkg or lies above it. The pattern ... covers all.
func covers(pattern, pkg string) bool {
	top, below := strings.CutSuffix(pattern, "/...")
	return pattern == "..." || top == pkg || below && strings.HasPrefix(pkg, top+"/")
}

func importsOf(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.ImportsOnly)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return nil
	}
	var paths []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		paths = append(paths, p)
	}
	return append(paths, "") // so that a file without imports still needs a line in the table
}

// walkGo calls visit with every Go file of the module, as a slash-separated path below its root.
func walkGo(t *testing.T, visit func(file string)) {
	err := filepath.WalkDir("..", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && p != ".." && (name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && strings.HasSuffix(name, ".go") {
			file, err := filepath.Rel("..", p)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportTableBites holds the table to what it must refuse and what it must let pass.
func TestImportTableBites(t *testing.T) {
	for _, c := range []struct {
		file, imported string
		refused        bool
	}{
		{"ghpr/intent.go", module + "/classify", true},
		{"ghpr/pull.go", module + "/ghpr/github", false},
		{"ghpr/github/client.go", module + "/ghpr", true},
		{"ghpr/github/client.go", module + "/config", true},
		{"classify/engine.go", module + "/config", true},
		{"classify/engine.go", module + "/classify/rule", true},
		{"ingest/trajectory/step.go", module + "/ingest/otlp/wire", true},
		{"ingest/otlp/wire/walk.go", module + "/ingest/otlp", true},
		{"ingest/otlp/http.go", module + "/ingest/otlp/wire", false},
		{"ratchet/absorb.go", module + "/ratchet/regcase", false},
		{"ratchet/redact/scan.go", module + "/ingest/trajectory", true},
		{"test/fakegithub/server.go", module + "/ghpr", true},
		{"test/sample/run.go", module + "/ratchet", false},
		{"cmd/pawl/serve.go", module + "/config", false},
		{"config/parse.go", "testing", true},
		{"config/parse_test.go", "testing", false},
		{"config/parse.go", "fmt", false},
		{"testing/strings.go", "", true},
		{"util/strings.go", "", true},
	} {
		if why := refuse(c.file, c.imported); (why != "") != c.refused {
			t.Errorf("%s imports %s: %q", c.file, c.imported, why)
		}
	}
}

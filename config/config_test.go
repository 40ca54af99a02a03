package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the expected messages")

// TestErrors reads every mistake in testdata/errors: an archive of the file and of the whole message it must give.
func TestErrors(t *testing.T) {
	t.Setenv("PAWL_TEST_EMPTY", "")
	files, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(files) < 30 {
		t.Fatalf("fixtures: %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testError(t, file) })
	}
}

func testError(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("pawl.yaml", a.Files[0].Data)
	if err == nil {
		t.Fatal("no error")
	}
	got := err.Error() + "\n"
	if *update {
		a.Files = append(a.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(a.Files[1].Data); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNothingIsDefault(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "listen:\n", "null\n", string(Example())} {
		cfg, err := Parse("pawl.yaml", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if !reflect.DeepEqual(cfg, Default()) {
			t.Errorf("%q is not the default", text)
		}
	}
}

// uncomment makes the example one file that sets everything it shows.
func uncomment(text []byte) []byte {
	return regexp.MustCompile(`(?m)^#([a-z ])`).ReplaceAll(text[bytes.Index(text, []byte("#data_dir")):], []byte("$1"))
}

func setSecrets(t *testing.T) {
	for _, m := range regexp.MustCompile(`\$\{env:(\w+)\}`).FindAllSubmatch(Example(), -1) {
		t.Setenv(string(m[1]), "hunter2-"+string(m[1]))
	}
}

// TestExample holds the example to the truth: uncommented it parses, shows every section, and what it calls the default is.
func TestExample(t *testing.T) {
	setSecrets(t)
	text := uncomment(Example())
	cfg, err := Parse("pawl.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys(reflect.TypeFor[Config]()) {
		if !regexp.MustCompile(`(?m)^` + key + `:`).Match(text) {
			t.Errorf("the example does not show %s", key)
		}
	}
	def := Default()
	def.Judge.APIKey, def.GHPR.Token, def.GHPR.Hooks = cfg.Judge.APIKey, cfg.GHPR.Token, cfg.GHPR.Hooks
	for _, pair := range [][2]any{{cfg.Listen, def.Listen}, {cfg.Assemble, def.Assemble}, {cfg.Judge, def.Judge}, {cfg.GHPR, def.GHPR}, {cfg.Rules, def.Rules}, {cfg.Ingest.Limits, def.Ingest.Limits}} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("the example shows %+v as default, it is %+v", pair[0], pair[1])
		}
	}
	if got := cfg.Auth.Tokens[0].Token.Reveal(); got != "hunter2-PAWL_TOKEN_ANA" {
		t.Errorf("token %q", got)
	}
	if !cfg.Policy[0].MustNotCall[0].UnlessUserSaid.MatchString("please DELETE it") {
		t.Error("policy expression")
	}
	if got := string(cfg.Tools[0].Schema); got != `{"properties":{"to":{"type":"string"}},"required":["to"],"type":"object"}` {
		t.Errorf("schema %s", got)
	}
}

// TestSecretsStayHidden prints a Config in every way there is and looks for the secret.
func TestSecretsStayHidden(t *testing.T) {
	setSecrets(t)
	cfg, err := Parse("pawl.yaml", uncomment(Example()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	type inner struct{ secret Secret }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, cfg)
		fmt.Fprintf(&out, verb, inner{cfg.GHPR.Token})
		fmt.Fprintf(&out, verb, cfg.GHPR.Token)
	}
	lg := slog.New(slog.NewJSONHandler(&out, nil))
	lg.Info("x", "cfg", cfg, "token", cfg.GHPR.Token)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "cfg", cfg, "token", cfg.GHPR.Token)
	for _, write := range []func() ([]byte, error){cfg.YAML, cfg.JSON, func() ([]byte, error) { return json.Marshal(cfg) }, func() ([]byte, error) { return yaml.Marshal(cfg) }} {
		text, err := write()
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), fmt.Sprintf("%x", "hunter2")) {
		t.Error("a secret was printed")
	}
	if !strings.Contains(out.String(), hidden) {
		t.Error("nothing was hidden")
	}
}

// TestPrintedParses: what config check prints is itself a configuration, and the same one.
func TestPrintedParses(t *testing.T) {
	setSecrets(t)
	for _, text := range []string{"", strings.ReplaceAll(string(uncomment(Example())), "\r", "")} {
		cfg, err := Parse("pawl.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		printed, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadOffline(writeFile(t, strings.ReplaceAll(string(printed), hidden, "${env:PAWL_X}")))
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		once, err := again.YAML()
		if err != nil || string(once) != string(printed) {
			t.Errorf("%v\n%s\nis not\n%s", err, once, printed)
		}
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pawl.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSecretFile(t *testing.T) {
	name := writeFile(t, "ghpr: {mode: open, token: \"${file:token}\"}\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(name), "token"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(name)
	if err != nil || cfg.GHPR.Token.Reveal() != "hunter2" {
		t.Errorf("%q, %v", cfg.GHPR.Token.Reveal(), err)
	}
	for _, path := range []string{"absent", ".", "/dev/zero"} {
		_, err := Parse(name, []byte("ghpr: {token: \"${file:"+path+"}\"}\n"))
		if _, ok := errors.AsType[Problems](err); !ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestNoConfiguration: a file that is something else gives a short report, whatever its size.
func TestNoConfiguration(t *testing.T) {
	for name, text := range map[string]string{
		"one line":  "severity: {" + strings.Repeat("\"xyz\": info, ", 3000) + "}",
		"many keys": strings.Repeat("other: 1\n", 3000),
		"log":       strings.Repeat("2026-01-01T00:00:00Z level=info msg=\"started: ok\"\n", 3000),
		"dashes":    strings.Repeat("- ", 100_000),
		"binary":    "\x7fELF\x02\x01\xff\xfe",
		"too large": strings.Repeat("#\n", maxFile),
	} {
		_, err := Parse("pawl.yaml", []byte(text))
		ps, ok := errors.AsType[Problems](err)
		if !ok || len(ps) > maxProblems+1 || len(err.Error()) > 50_000 {
			t.Errorf("%s: %d problems, %d bytes", name, len(ps), len(err.Error()))
		}
	}
}

// TestOffline: a machine without the secrets can use the rest of the file, and a literal secret is refused there too.
func TestOffline(t *testing.T) {
	name := writeFile(t, "ghpr: {mode: open, token: \"${env:PAWL_TEST_ABSENT}\"}\nrules: {loop: {match: 7}}\n")
	cfg, err := LoadOffline(name)
	if err != nil || cfg.Rules.Loop.Match != 7 || !cfg.GHPR.Token.Empty() {
		t.Errorf("%+v, %v", cfg.Rules.Loop, err)
	}
	if _, err := cfg.GHPR.Token.Resolve(); err == nil {
		t.Error("a secret that is not there was resolved")
	}
	t.Setenv("PAWL_TEST_ABSENT", "s")
	if v, err := cfg.GHPR.Token.Resolve(); err != nil || v != "s" {
		t.Errorf("%q, %v", v, err)
	}
	os.Unsetenv("PAWL_TEST_ABSENT")
	if _, err := Load(name); err == nil {
		t.Error("an absent variable is no error")
	}
	if _, err := LoadOffline(writeFile(t, "ghpr: {token: ghp_123}\n")); err == nil || strings.Contains(err.Error(), "ghp_123") {
		t.Errorf("literal secret: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "absent.yaml"), t.TempDir(), "/dev/null/x"} {
		if _, err := Load(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}

func TestValidateAfterFlags(t *testing.T) {
	cfg := Default()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	cfg.Listen.HTTP = "0.0.0.0:7295"
	err := cfg.Validate()
	if err == nil || !strings.Contains(err.Error(), "auth.tokens") {
		t.Errorf("%v", err)
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[Addr]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.9.9.9:1": true, "[::ffff:127.0.0.1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "example.com:1": false, "": false,
	} {
		if addr.Loopback() != want {
			t.Errorf("%q: %v", addr, !want)
		}
	}
}

func TestScalarsRoundTrip(t *testing.T) {
	for d, want := range map[Duration]string{Duration(30 * time.Second): "30s", Duration(168 * time.Hour): "168h", Duration(90 * time.Minute): "1h30m", Duration(1500 * time.Millisecond): "1.5s", Duration(10 * time.Minute): "10m"} {
		var back Duration
		if err := back.UnmarshalText([]byte(want)); err != nil || d.String() != want || back != d {
			t.Errorf("%s, %s, %v", d, back, err)
		}
	}
	for b, want := range map[Bytes]string{8 << 20: "8MiB", 1: "1B", 0: "0B", 1536: "1536B", 3 << 10: "3KiB"} {
		var back Bytes
		if err := back.UnmarshalText([]byte(want)); err != nil || b.String() != want || back != b {
			t.Errorf("%s, %s, %v", b, back, err)
		}
	}
	var b Bytes
	for _, bad := range []string{"", "8MB", "-1", "1.5MiB", "99999999999999999999", "9999999999GiB", "MiB"} {
		if b.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("size %q was read", bad)
		}
	}
}

// TestSchema holds the JSON Schema to the decoder: it takes the example and what config check prints, and refuses the
// mistakes that a schema can see.
func TestSchema(t *testing.T) {
	setSecrets(t)
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pawl.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("pawl.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(asJSON(t, uncomment(Example()))); err != nil {
		t.Errorf("the example: %v", err)
	}
	printed, err := Default().YAML()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(asJSON(t, printed)); err != nil {
		t.Errorf("the default: %v", err)
	}
	for _, name := range []string{"unknown_key", "unknown_nested_key", "enum", "wrong_type_int", "missing_required", "over_max", "literal_secret"} {
		a, err := txtar.ParseFile("testdata/errors/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(asJSON(t, a.Files[0].Data)) == nil {
			t.Errorf("the schema takes %s", name)
		}
	}
}

func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOverrides(t *testing.T) {
	if over := Default().Rules.Overrides(); len(over) != 0 {
		t.Errorf("the defaults override %v", over)
	}
	cfg, err := Parse("pawl.yaml", []byte("rules: {loop: {match: 7, warn: 3}, cost_spike: {factor: 2}, context_overflow: {windows: {m: 9}}}"))
	want := map[string]map[string]any{"loop": {"match": 7}, "cost_spike": {"factor": 2.0}, "context_overflow": {"windows": map[string]int{"m": 9}}}
	if got := cfg.Rules.Overrides(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestEveryFieldIsDescribed keeps the tags complete: without a key or a description a field cannot be found.
func TestEveryFieldIsDescribed(t *testing.T) {
	var walk func(reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || typ.PkgPath() != reflect.TypeFor[Config]().PkgPath() || typ == secretType || seen[typ] {
			return
		}
		seen[typ] = true
		for sf := range typ.Fields() {
			if sf.Tag.Get("yaml") == "" || sf.Tag.Get("doc") == "" {
				t.Errorf("%s.%s has no key or no description", typ, sf.Name)
			}
			walk(sf.Type)
		}
	}
	walk(reflect.TypeFor[Config]())
	if len(seen) < 30 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

// FuzzParse: no input panics; an error is Problems, each in one line, with a place within the file or none; what
// parses prints and parses again.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/errors/*.txtar")
	for _, file := range files {
		if a, err := txtar.ParseFile(file); err == nil {
			f.Add(a.Files[0].Data)
		}
	}
	f.Add(uncomment(Example()))
	f.Add([]byte("a: [[[[[[[[[[[[[[[[{{{{{{{{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := parse("pawl.yaml", data, false)
		if err == nil {
			if _, err := cfg.JSON(); err != nil {
				t.Errorf("what parses does not print: %v", err)
			}
			return
		}
		ps, ok := errors.AsType[Problems](err)
		if !ok {
			t.Fatalf("not Problems: %v", err)
		}
		for _, p := range ps {
			if p.Message == "" || strings.ContainsAny(p.Message, "\n\r") || p.Line < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

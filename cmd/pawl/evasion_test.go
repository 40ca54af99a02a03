package main

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/rename"
	"github.com/pawl-dev/pawl/ratchet/turn"
)

// TestEvasions runs pawl verify on every pair of the corpus in test/evasion: a repository whose main branch holds the base, and a change of it. Its
// README.md tells the form. With -v it prints the table of pair, expected and got.
func TestEvasions(t *testing.T) {
	template := evasionBase(t)
	files, err := filepath.Glob("../../test/evasion/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	evasions := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range archive.Files {
			if !bytes.Contains(pair.Data, []byte("expect 0")) {
				evasions++
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+pair.Name, func(t *testing.T) {
				e := evade(t, template, string(pair.Data))
				t.Logf("%-70s expected %-50s got %s", t.Name(), strings.Join(e.want, " "), strings.Join(e.got, " "))
			})
		}
	}
	if evasions < 45 {
		t.Errorf("the corpus holds %d evasions", evasions)
	}
}

// evasionBase makes the repository that every pair starts from: main holds the base, change is checked out.
func evasionBase(t *testing.T) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../test/evasion/base")); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(dated(string(b))), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "config", "core.autocrlf", "false")
	commitAll(t, dir, "base")
	gitIn(t, dir, "checkout", "-q", "-b", "change")
	commitAll(t, dir, "an empty change")
	return dir
}

var relativeDay = regexp.MustCompile(`@([+-]\d+)d@`)

// corpusNow is the time at which the corpus is played: a pair's dates are laid around it, and no midnight comes between them.
var corpusNow = time.Date(2026, 12, 4, 12, 0, 0, 0, time.UTC)

// dated turns @+7d@ into the day a week from corpusNow.
func dated(s string) string {
	return relativeDay.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.Atoi(strings.Trim(m, "@d"))
		return corpusNow.AddDate(0, 0, n).Format("2006-01-02")
	})
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func commitAll(t *testing.T, dir, message string) {
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", message)
}

// evasion is one pair being played.
type evasion struct {
	t         *testing.T
	dir       string
	args      []string
	want, got []string
	commit    bool
}

// evade plays the lines of one pair.
func evade(t *testing.T, template, script string) *evasion {
	e := &evasion{t: t, dir: t.TempDir(), args: []string{"verify", "--base", "main"}, commit: true}
	if out, err := exec.Command("cp", "-a", template+"/.", e.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Chdir(e.dir)
	t.Setenv("CI", "") // a pair that plays in CI says so
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		words := wordsOf(t, dated(line))
		e.do(words[0], words[1:])
	}
	e.verify()
	return e
}

// do plays one line.
func (e *evasion) do(verb string, args []string) {
	switch verb {
	case "expect":
		e.want = args
	case "args":
		e.args = append([]string{"verify"}, args...)
	case "uncommitted":
		e.commit = false
	case "commit":
		commitAll(e.t, e.dir, "so far")
	case "cd":
		e.dir = filepath.Join(e.dir, args[0])
		e.t.Chdir(e.dir)
	case "git":
		gitIn(e.t, e.dir, args...)
	case "env":
		name, value, _ := strings.Cut(args[0], "=")
		e.t.Setenv(name, value)
	case "replace":
		e.replace(args)
	case "forge":
		e.forge(args)
	case "migrate":
		e.migrate(args[0], args[1])
	case "erase":
		e.erase(args[0])
	case "forge-tree":
		e.forgeTree(args[0], args[1])
	default:
		e.file(verb, args)
	}
}

// replace puts a new text in the place of an old one, in every file that the pattern names.
func (e *evasion) replace(args []string) {
	files := e.paths(args[0])
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			e.t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(args[1])) {
			e.t.Fatalf("%s does not hold %q:\n%s", f, args[1], b)
		}
		if err := os.WriteFile(f, bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2])), 0o644); err != nil {
			e.t.Fatal(err)
		}
	}
}

// forge puts other bytes under the name of the object that a file of main is.
func (e *evasion) forge(args []string) {
	show := exec.Command("git", "rev-parse", "main:"+args[0])
	show.Dir = e.dir
	id, err := show.Output()
	if err != nil {
		e.t.Fatal(err)
	}
	body, err := os.ReadFile(args[0])
	if err != nil {
		e.t.Fatal(err)
	}
	body = bytes.Replace(body, []byte(args[1]), []byte(args[2]), 1)
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	fmt.Fprintf(z, "blob %d\x00%s", len(body), body)
	z.Close()
	object := filepath.Join(".git/objects", string(id[:2]), string(id[2:40]))
	if err := os.Remove(object); err != nil {
		e.t.Fatal(err)
	}
	e.file("write", []string{object, b.String()})
}

// forgeTree puts the directory as HEAD holds it under the name of the object that it is on main.
func (e *evasion) forgeTree(dir, of string) {
	id := strings.TrimSpace(e.output("rev-parse", "main:"+dir))
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	body := e.output("cat-file", "tree", of+":"+dir)
	fmt.Fprintf(z, "tree %d\x00%s", len(body), body)
	z.Close()
	object := filepath.Join(".git/objects", id[:2], id[2:])
	if err := os.Remove(object); err != nil {
		e.t.Fatal(err)
	}
	e.file("write", []string{object, b.String()})
}

// output is what git prints.
func (e *evasion) output(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = e.dir
	b, err := cmd.Output()
	if err != nil {
		e.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(b)
}

// erase takes a value out of the whole set, as pawl migrate does, with the waivers that this writes.
func (e *evasion) erase(value string) {
	src := os.DirFS("regressions")
	set, problems := regcase.ReadSet(src)
	if len(problems) > 0 {
		e.t.Fatal(problems)
	}
	changes, _, err := turn.Erase(src, set, value, "a person asked for it by mail", "#44", time.Now())
	if err != nil {
		e.t.Fatal(err)
	}
	for _, c := range changes {
		e.file("write", []string{"regressions/" + c.Path, string(c.Data)})
	}
}

// migrate renames a tool in the whole set as pawl migrate does.
func (e *evasion) migrate(tool, to string) {
	src := os.DirFS("regressions")
	set, problems := regcase.ReadSet(src)
	if len(problems) > 0 {
		e.t.Fatal(problems)
	}
	n := regcase.Rename{Tool: tool, To: to, Reason: "the carrier calls it a shipment now", Issue: "#9"}
	for _, c := range set.All() {
		trace, err := regcase.ReadTrace(src, c)
		if err != nil {
			e.t.Fatal(err)
		}
		renamed, recording, err := rename.Apply(n, c.Case, trace)
		if err != nil {
			e.t.Fatal(err)
		}
		text, err := regcase.Encode(renamed)
		if err != nil {
			e.t.Fatal(err)
		}
		e.file("write", []string{"regressions/" + c.Dir + "/case.yaml", string(text)})
		e.file("write", []string{"regressions/" + c.Dir + "/trace.json", string(recording)})
	}
	text, err := regcase.EncodeRenames(append(set.Renames, n))
	if err != nil {
		e.t.Fatal(err)
	}
	e.file("write", []string{"regressions/renames.yaml", string(text)})
}

func (e *evasion) file(verb string, args []string) {
	var err error
	switch verb {
	case "rm":
		for _, f := range e.paths(args[0]) {
			err = os.RemoveAll(f)
		}
	case "mv":
		from := e.paths(args[0])[0]
		if err = os.MkdirAll(filepath.Dir(args[1]), 0o755); err == nil {
			err = os.Rename(from, args[1])
		}
	case "cp":
		err = exec.Command("cp", "-a", e.paths(args[0])[0], args[1]).Run()
	case "write":
		if err = os.MkdirAll(filepath.Dir(args[0]), 0o755); err == nil {
			err = os.WriteFile(args[0], []byte(args[1]), 0o644)
		}
	case "append":
		for _, f := range e.paths(args[0]) {
			var b []byte
			if b, err = os.ReadFile(f); err == nil {
				err = os.WriteFile(f, append(b, args[1]...), 0o644)
			}
		}
	case "link":
		err = os.Symlink(args[1], args[0])
	default:
		e.t.Fatalf("unknown line %q", verb)
	}
	if err != nil {
		e.t.Fatalf("%s %v: %v", verb, args, err)
	}
}

// paths are the files that a pattern names: loop/case.yaml is that of the case of that label.
func (e *evasion) paths(pattern string) []string {
	out, err := filepath.Glob(pattern)
	if err != nil || len(out) == 0 {
		e.t.Fatalf("%s names nothing: %v", pattern, err)
	}
	return out
}

// verify runs the command and holds it to what was expected: the exit code, and kind:field of findings that must be open.
func (e *evasion) verify() {
	if e.commit {
		commitAll(e.t, e.dir, "a change")
	}
	var out, complaint bytes.Buffer
	code := run(e.t.Context(), append(e.args, "--json", "--now", corpusNow.Format(time.RFC3339)), strings.NewReader(""), &out, &complaint)
	e.got = []string{strconv.Itoa(code)}
	for line := range strings.Lines(out.String()) {
		var l struct {
			Kind    string
			Open    bool
			Finding struct{ Kind, Field string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			e.t.Fatalf("%v: %s", err, line)
		}
		if l.Kind == "finding" && l.Open {
			e.got = append(e.got, strings.TrimSuffix(l.Finding.Kind+":"+l.Finding.Field, ":"))
		}
	}
	if len(e.want) == 0 {
		e.t.Fatal("the pair says nothing of what is expected")
	}
	ok := e.got[0] == e.want[0]
	for _, w := range e.want[1:] {
		if said, is := strings.CutPrefix(w, "says:"); is {
			ok = ok && strings.Contains(complaint.String()+out.String(), said)
			continue
		}
		ok = ok && slices.Contains(e.got, w)
	}
	if !ok {
		e.t.Errorf("expected %v, got %v\n%s%s", e.want, e.got, out.String(), complaint.String())
	}
}

// wordsOf splits a line at blanks; '...' is taken as it stands, "..." as Go reads it.
func wordsOf(t *testing.T, line string) (out []string) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		var word string
		switch line[0] {
		case '\'':
			end := strings.IndexByte(line[1:], '\'')
			if end < 0 {
				t.Fatalf("an open quote: %s", line)
			}
			word, line = line[1:1+end], line[2+end:]
		case '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			word, _ = strconv.Unquote(quoted)
			line = line[len(quoted):]
		default:
			word, line, _ = strings.Cut(line, " ")
		}
		out = append(out, word)
	}
	return out
}

package regcase

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// aSet is a directory that holds the example case, and the case's directory in it.
func aSet(t *testing.T) (dir, caseDir string) {
	t.Helper()
	dir = t.TempDir()
	root := open(t, dir)
	c, did, err := Write(root, example(), []byte("{}"))
	if err != nil || did != Created {
		t.Fatal(did, err)
	}
	return dir, filepath.Join(dir, filepath.FromSlash(c.Dir()))
}

func open(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func put(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadSet(t *testing.T) {
	dir, caseDir := aSet(t)
	specimen := example()
	specimen.ID += ".2"
	b, err := Encode(specimen)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(caseDir, "2", CaseFile), b)
	put(t, filepath.Join(caseDir, "2", JSONFile), []byte("{}"))
	put(t, filepath.Join(dir, "README.md"), []byte("# the set"))
	put(t, filepath.Join(dir, ".gitattributes"), []byte("*.yaml text eol=lf"))
	put(t, filepath.Join(dir, StubsDir, "get_order.yaml"), []byte("apiVersion: pawl/v1\nkind: Fixtures\ntool: get_order\nanswers: [{arguments: {order_id: X}, result: {state: open}}, {result: gone, fault: error}]\n"))
	put(t, filepath.Join(dir, StubsDir, "refund"), []byte("#!/bin/sh\necho '{\"result\": 1}'\n"))
	if err := os.Chmod(filepath.Join(dir, StubsDir, "refund"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := open(t, dir)
	w := Waiver{Field: "/runs/n", Base: NewJSON([]byte("5")), Head: NewJSON([]byte("3")), Reason: "too dear: #1", Issue: "https://example.com/1"}
	for range 2 {
		if err := AddWaiver(root, new(example()).Dir(), w); err != nil {
			t.Fatal(err)
		}
	}
	set, problems := ReadSet(Checkout(root))
	if len(problems) > 0 || len(set.Cases) != 2 {
		t.Fatalf("%d cases, %v", len(set.Cases), problems)
	}
	first, second := set.Cases[example().ID], set.Cases[specimen.ID]
	if len(first.Waivers) != 1 || first.Waivers[0].Reason != w.Reason || !first.Canonical || first.Written != APIVersion || second.Dir != specimen.Dir() || !second.Case.Specimen() {
		t.Errorf("%+v %+v", first, second)
	}
	get, refund := set.Stubs["get_order"], set.Stubs["refund"]
	if a, ok := get.Answer(NewJSON([]byte(`{"order_id":"X"}`))); !ok || string(a.Result) != `{"state":"open"}` || !refund.Executable {
		t.Errorf("%+v %v %+v", a, ok, refund)
	}
	if a, ok := get.Answer(NewJSON([]byte(`{}`))); !ok || *a.Fault != "error" {
		t.Errorf("%+v %v", a, ok)
	}
	if b, err := ReadTrace(Checkout(root), first); err != nil || string(b) != "{}" {
		t.Errorf("%s %v", b, err)
	}
}

func (c *Case) yaml(t *testing.T) []byte {
	b, err := Encode(*c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func example2(change func(*Case)) *Case {
	c := example()
	change(&c)
	return &c
}

// Every way to trick the reader is named with its path, and nothing outside of the set or behind a link is read.
func TestReadSetRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes and links are made otherwise there")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, []byte("password"))
	id := example().ID
	at := "loop/" + id + "/"
	link := func(target, name string) func(t *testing.T, dir, caseDir string) {
		return func(t *testing.T, dir, caseDir string) {
			name := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(name, text string) func(t *testing.T, dir, caseDir string) {
		return func(t *testing.T, dir, _ string) {
			name := filepath.Join(dir, filepath.FromSlash(name))
			if info, err := os.Lstat(filepath.Dir(name)); err == nil && !info.IsDir() {
				_ = os.Remove(filepath.Dir(name)) // a directory is to stand where a file is
			}
			put(t, name, []byte(text))
		}
	}
	for name, c := range map[string]struct {
		do       func(t *testing.T, dir, caseDir string)
		at, want string
	}{
		"a link as case.yaml":            {link(secret, at+CaseFile), at + CaseFile, "a symbolic link"},
		"a link as trace.json":           {link("case.yaml", at+JSONFile), at + JSONFile, "a symbolic link"},
		"a link as a case":               {link(id, "loop/loop-0000000000"), "loop/loop-0000000000", "a symbolic link"},
		"a link as a label":              {link("loop", "other"), "other", "a symbolic link"},
		"a link in the set's root":       {link(secret, "README.md"), "README.md", "a symbolic link"},
		"a link as a dot file":           {link(secret, ".gitattributes"), ".gitattributes", "a symbolic link"},
		"a link as a dot directory":      {link("/", ".hidden"), ".hidden", "a symbolic link"},
		"a link as stubs":                {link("loop", StubsDir), StubsDir, "a symbolic link"},
		"a link as a specimen":           {link(".", at+"2"), at + "2", "a symbolic link"},
		"a link to nowhere":              {link("nowhere", at+WaiversFile), at + WaiversFile, "a symbolic link"},
		"a directory called case.yaml":   {file(at+CaseFile+"/x", ""), at + CaseFile, "a directory does not belong"},
		"a directory called trace.json":  {file(at+JSONFile+"/x", ""), at + JSONFile, "a directory does not belong"},
		"a file as a label":              {file("hallucinated_tool", ""), "hallucinated_tool", "a file does not belong"},
		"a file as a case":               {file("loop/loop-0000000000", ""), "loop/loop-0000000000", "a file does not belong"},
		"a stray file":                   {file("index.json", "{}"), "index.json", "does not belong here"},
		"a stray file in a case":         {file(at+"notes.md", ""), at + "notes.md", "does not belong here"},
		"a dot file in a case":           {file(at+".keep", ""), at + ".keep", "does not belong here"},
		"a write that was interrupted":   {file(at+CaseFile+".tmp", ""), at + CaseFile + ".tmp", "interrupted: remove it"},
		"a label in capitals":            {file("LOOP/x", ""), "LOOP", "does not belong here"},
		"the same in another case":       {file("Readme.MD", "") /* beside README.md below */, "Readme.MD", "where case does not count"},
		"an id that is no id":            {file("loop/loop-XYZ/"+CaseFile, ""), "loop/loop-XYZ", "does not belong here"},
		"a specimen of a specimen":       {file(at+"2/2/"+CaseFile, ""), at + "2/2", "does not belong here"},
		"a fifth specimen":               {file(at+"5/"+CaseFile, ""), at + "5", "does not belong here"},
		"a case without case.yaml":       {file("loop/loop-0000000000/"+JSONFile, "{}"), "loop/loop-0000000000", "there is no case.yaml"},
		"another trace":                  {file(at+JSONFile, "{ }"), at + JSONFile, "not the trace that the case names"},
		"a case at another place":        {file("loop/loop-0000000000/"+CaseFile, string(example2(func(*Case) {}).yaml(t))), "loop/loop-0000000000", "there is no trace.json"},
		"an empty case":                  {file(at+CaseFile, ""), at + CaseFile, "it is empty"},
		"a waiver without a reason":      {file(at+WaiversFile, "apiVersion: pawl/v1\nkind: Waivers\nwaivers: [{field: /runs/n, base: 5, head: 3, reason: ' ', issue: '#1'}]\n"), at + WaiversFile, "there is no reason"},
		"a waiver without an issue":      {file(at+WaiversFile, "apiVersion: pawl/v1\nkind: Waivers\nwaivers: [{field: /runs/n, base: 5, head: 3, reason: x}]\n"), at + WaiversFile, "there is no issue"},
		"a waiver of nothing":            {file(at+WaiversFile, "apiVersion: pawl/v1\nkind: Waivers\nwaivers: [{field: /runs/n, base: 5, head: 5, reason: x, issue: '#1'}]\n"), at + WaiversFile, "nothing is waived"},
		"a waiver of a later version":    {file(at+WaiversFile, "apiVersion: pawl/v2\nkind: Waivers\nwaivers: []\n"), at + WaiversFile, "a newer pawl"},
		"a stub under another name":      {file(StubsDir+"/other.yaml", "apiVersion: pawl/v1\nkind: Fixtures\ntool: get_order\nanswers: [{result: 1}]\n"), StubsDir + "/other.yaml", "get_order.yaml"},
		"a stub that is no program":      {file(StubsDir+"/get_order.sh", "x"), StubsDir + "/get_order.sh", "nor executable"},
		"a stub that fails in no way":    {file(StubsDir+"/get_order.json", `{"apiVersion":"pawl/v1","kind":"Fixtures","tool":"get_order","answers":[{"fault":"tired"}]}`), StubsDir + "/get_order.json", "tired"},
		"a stub without an answer":       {file(StubsDir+"/get_order.json", `{"apiVersion":"pawl/v1","kind":"Fixtures","tool":"get_order","answers":[]}`), StubsDir + "/get_order.json", "0 answers"},
		"a directory in the stubs":       {file(StubsDir+"/sub/x.json", ``), StubsDir + "/sub", "does not belong here"},
		"a backslash in a name":          {file("loop/a\\b/x", ``), "loop/a\\b", "does not belong here"},
		"a name that is not UTF-8":       {file("loop/\xff/x", ``), "loop/\xff", "does not belong here"},
		"a pipe as case.yaml":            {pipe(at + CaseFile), at + CaseFile, "a pipe"},
		"a pipe as trace.json":           {pipe(at + JSONFile), at + JSONFile, "a pipe"},
		"a pipe as a stub":               {pipe(StubsDir + "/get_order.json"), StubsDir + "/get_order.json", "a pipe"},
		"a case larger than any":         {huge(at+CaseFile, MaxDocument+1), at + CaseFile, "larger than 2 MiB"},
		"a sparse file of a terabyte":    {huge(at+JSONFile, 1<<40), at + JSONFile, "larger than 8 MiB"},
		"a case that may not be read":    {func(t *testing.T, _, caseDir string) { unreadable(t, filepath.Join(caseDir, CaseFile)) }, at + CaseFile, "permission denied"},
		"the case of another label's id": {move("loop", "cost_spike"), "cost_spike/" + id + "/" + CaseFile, "its place is loop/"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, caseDir := aSet(t)
			put(t, filepath.Join(dir, "README.md"), nil)
			c.do(t, dir, caseDir)
			_, problems := ReadSet(Checkout(open(t, dir)))
			found := false
			for _, p := range problems {
				found = found || p.Path == c.at && strings.Contains(p.Error(), c.want)
				if strings.Contains(p.Error(), "password") {
					t.Errorf("a file outside of the set was read: %v", p)
				}
			}
			if !found {
				t.Errorf("got %v, want %s: ... %s", problems, c.at, c.want)
			}
		})
	}
}

func pipe(name string) func(t *testing.T, dir, caseDir string) {
	return func(t *testing.T, dir, _ string) {
		name := filepath.Join(dir, filepath.FromSlash(name))
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		_ = os.Remove(name)
		if err := syscall.Mkfifo(name, 0o644); err != nil {
			t.Skip(err)
		}
	}
}

func huge(name string, size int64) func(t *testing.T, dir, caseDir string) {
	return func(t *testing.T, dir, _ string) {
		if err := os.Truncate(filepath.Join(dir, filepath.FromSlash(name)), size); err != nil {
			t.Skip(err)
		}
	}
}

func move(from, to string) func(t *testing.T, dir, caseDir string) {
	return func(t *testing.T, dir, _ string) {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
}

func unreadable(t *testing.T, name string) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
}

// Nothing below a link is opened, even by a name that nobody listed, and a pipe does not make the reader wait.
func TestCheckoutOpensPlainFilesAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes and links are made otherwise there")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "real", "f"), []byte("x"))
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	src := Checkout(open(t, dir))
	if b, err := fs.ReadFile(src, "real/f"); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
	for _, name := range []string{"link", "link/f", "pipe"} {
		if _, err := src.Open(name); !errors.Is(err, ErrNotFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"..", "../x", "/etc/passwd", "real/../real/f", "real//f", ""} {
		if _, err := src.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A set of git's objects is read by the same function: what git calls a link or a submodule is refused like those of a working tree.
func TestReadSetOfOtherSource(t *testing.T) {
	c := example()
	src := fstest.MapFS{
		c.Dir() + "/" + CaseFile: {Data: c.yaml(t)}, c.Dir() + "/" + JSONFile: {Data: []byte("{}")},
		"cost_spike": {Mode: fs.ModeSymlink, Data: []byte("loop")}, "sub": {Mode: fs.ModeIrregular},
	}
	set, problems := ReadSet(src)
	if len(set.Cases) != 1 || len(problems) != 2 {
		t.Fatalf("%v %v", set.IDs(), problems)
	}
	for i, want := range []string{"symbolic link", "submodule"} {
		if !errors.Is(problems[i], ErrNotFile) || !strings.Contains(problems[i].Error(), want) {
			t.Errorf("%v", problems[i])
		}
	}
}

func TestReadSetIsBounded(t *testing.T) {
	src := fstest.MapFS{}
	for i := range maxEntries + 1 {
		src["loop/x"+string(rune('a'+i%26))+strings.Repeat("z", i/26%50)+string(rune('0'+i%10))+strings.Repeat("y", i/1300)] = &fstest.MapFile{}
	}
	_, problems := ReadSet(src)
	if len(problems) == 0 || len(problems) > maxProblems+1 {
		t.Errorf("%d problems", len(problems))
	}
}

// FuzzReadSet lays any bytes at every place of a set: each is read or named, and what is read can be written and is then the same.
func FuzzReadSet(f *testing.F) {
	c := example()
	text, err := Encode(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, []byte("{}"), []byte(nil), []byte(nil))
	f.Add(text, []byte("{}"), []byte("apiVersion: pawl/v1\nkind: Waivers\nwaivers: [{field: /runs/n, base: 5, head: 3, reason: x, issue: '#1'}]\n"), []byte("apiVersion: pawl/v1\nkind: Fixtures\ntool: t\nanswers: [{result: 1}]\n"))
	f.Fuzz(func(t *testing.T, text, trace, waivers, stub []byte) {
		src := fstest.MapFS{c.Dir() + "/" + CaseFile: {Data: text}, c.Dir() + "/" + JSONFile: {Data: trace}, c.Dir() + "/" + WaiversFile: {Data: waivers}, StubsDir + "/t.yaml": {Data: stub}}
		set, problems := ReadSet(src)
		if len(set.Cases)+len(problems) == 0 {
			t.Error("neither a case nor a problem")
		}
		for _, e := range set.All() {
			if len(e.Waivers) == 0 {
				continue
			}
			b, err := EncodeWaivers(e.Waivers)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := DecodeWaivers(b); err != nil || len(again) != len(e.Waivers) {
				t.Fatalf("%v\n%s", err, b)
			}
		}
		for _, s := range set.Stubs {
			b, err := EncodeStubs(Stubs{APIVersion, StubsKind, s.Tool, s.Answers})
			if err != nil {
				t.Fatal(err)
			}
			if again, err := DecodeStubs(b); err != nil || len(again.Answers) != len(s.Answers) {
				t.Fatalf("%v\n%s", err, b)
			}
		}
	})
}

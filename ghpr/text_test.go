package ghpr

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDefuse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain words, 3 of 5 (60 %)", "plain words, 3 of 5 (60 %)"},
		{"hi @ana and @acme/team", "hi \uff20ana and \uff20acme/team"},
		{"@dependabot merge", "\uff20dependabot merge"},
		{"fixes #1", "fixes \uff031"},
		{"closes acme/shop#22", "closes acme/shop\uff0322"},
		{"resolves GH-7 and gh-8", "resolves GH\u20117 and gh\u20118"},
		{"see https://github.com/a/b/pull/1", "see https[:]//github[.]com/a/b/pull/1"},
		{"www.example.com", "www[.]example.com"},
		{"/lgtm\n  /approve\nnot /this", "\u2215lgtm\n  \u2215approve\nnot /this"},
		{"[skip ci] [CI SKIP] [no ci] ***NO_CI***", "(skip ci) (CI SKIP) (no ci) NO_CI"},
		{"Ratchet-Waive: x\nSigned-off-by: a", "Ratchet-Waive\uff1a x\nSigned-off-by\uff1a a"},
		{"<!-- pawl:end -->", "\u2039!-- pawl:end --\u203a"},
		{"<!--->", "\u2039!---\u203a"},
		{"a\u202eb\u200bc\u2066\ufeff", "a⟨U+202E⟩b⟨U+200B⟩c⟨U+2066⟩⟨U+FEFF⟩"},
		{"👩\u200d👧 ❤\ufe0f\u200d🔥 👍🏽\u200d♂\ufe0f می\u200cخواهم", "👩\u200d👧 ❤\ufe0f\u200d🔥 👍🏽\u200d♂\ufe0f می\u200cخواهم"},
		{"a\u200db 👩\u200d 👩\u200d\u200d👧 x\ufe0f ❤\ufe0f\ufe0f م\u200c", "a⟨U+200D⟩b 👩⟨U+200D⟩ 👩⟨U+200D⟩⟨U+200D⟩👧 x⟨U+FE0F⟩ ❤\ufe0f⟨U+FE0F⟩ م⟨U+200C⟩"},
		{"a\x00b\x1b[31m", "a⟨U+0000⟩b⟨U+001B⟩[31m"},
		{"a\xffb", "a⟨U+FFFD⟩b"},
		{"one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"},
	} {
		got := Defuse(c.in)
		if got != c.want {
			t.Errorf("Defuse(%q) = %q, want %q", c.in, got, c.want)
		}
		if again := Defuse(got); again != got {
			t.Errorf("twice %q gives %q", c.in, again)
		}
	}
}

func TestQuotes(t *testing.T) {
	for in, want := range map[string]string{
		"a b":              "` a b `",
		"two\nlines":       "` two lines `",
		"a | b":            "` a \u2223 b `",
		"x ``y`` z":        "``` x ``y`` z ```",
		"":                 "`(empty)`",
		"<img src=x>":      "` <img src=x> `",
		"long long long 1": "` long long long… `",
	} {
		if got := Inline(in, 14); got != want {
			t.Errorf("Inline(%q) = %q, want %q", in, got, want)
		}
	}
	text := "a\n````\n![x](http://evil/y)\n```` end"
	fence := Fence("js on`\n", text)
	if !strings.HasPrefix(fence, "`````json\n") || !strings.HasSuffix(fence, "\n`````\n") {
		t.Errorf("%q", fence)
	}
	if got := Details("<b>@x</b> `code` ![i](j)", "inner"); strings.Contains(got, "<b>") || strings.Contains(got, "@") || strings.Contains(got, "`") || strings.Contains(got, "![") {
		t.Errorf("%q", got)
	}
}

// Whatever comes from outside, quoted by our helpers, passes the last lock and stays in its place.
func FuzzHostileText(f *testing.F) {
	for _, s := range []string{"@a #1 GH-2", "```\n@x\n```", "``", "`", "<!--->-->", "</details><script>", "\u202e", "[skip ci]", "/x\n/y", "a\r\n\r\n    @b", "![a](b)", "\xff\xfe", `"quoted" and 'single'`,
		"https://github.com/a/b/issues/3", "~~~\n", "wwww.www.www.a", "a|b", "#1#2", "@@@", "GH-GH-1", "pawl-intent: x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := Defuse(s)
		if Defuse(d) != d || !utf8.ValidString(d) {
			t.Errorf("Defuse is no fixed point: %q -> %q -> %q", s, d, Defuse(d))
		}
		body := "Why: " + Inline(s, 100) + "\n\n| a | b |\n|---|---|\n| " + Inline(s, 20) + " | 1 |\n\n" + Details(s, Fence("text", s))
		if err := checkBody(body); err != nil {
			t.Errorf("%v in %q", err, body)
		}
		if row := strings.Split(body, "\n")[4]; strings.Count(outsideSpans(row), "|") != 3 {
			t.Errorf("the row has more cells: %q", row)
		}
		if line := strings.Split(body, "\n")[0]; strings.Contains(Inline(s, 100), "\n") || outsideSpans(line) != "Why: " {
			t.Errorf("the span leaks: %q", line)
		}
	})
}

func TestCheckBody(t *testing.T) {
	good := "# 1 case\n\nWhy. See https://trace.example.com/t/1 and `code <b>`.\n\n<details><summary>x</summary>\n\n```json\n<script>\n```\n\n</details>\n"
	if err := checkBody(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"hi @ana", "fixes #1", "GH-1", "![x](y)", "<img src=x>", "<script>x</script>", "a\u202eb", "```\nopen", "/lgtm", "[skip ci]",
		"https://github.com/a/b/issues/1", "<!-- x", "Signed-off-by: x", "<a href=x>", "`` <img> `", "<svg/onload=x>", "<?php"} {
		if checkBody(bad) == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func TestFitBody(t *testing.T) {
	blocks := []Block{{Text: "why\n"}, {Text: strings.Repeat("a", 50), Optional: true}, {Text: ""}, {Text: "must"}, {Text: strings.Repeat("b", 90), Optional: true}}
	for limit, want := range map[int]string{
		1000: "why\n\n" + strings.Repeat("a", 50) + "\n\nmust\n\n" + strings.Repeat("b", 90) + "\n",
		140:  "why\n\n" + strings.Repeat("a", 50) + "\n\nmust\n\n_1 more parts did not fit here; the files hold everything._\n",
		80:   "why\n\nmust\n\n_2 more parts did not fit here; the files hold everything._\n",
	} {
		got, err := FitBody(blocks, limit)
		if err != nil || got != want || len(got) > limit {
			t.Errorf("limit %d: %v\n%q\n%q", limit, err, got, want)
		}
	}
	if _, err := FitBody(blocks, 20); err == nil {
		t.Error("no error where the needed blocks do not fit")
	}
}

func TestFreeze(t *testing.T) {
	in := frozen(t, change())
	again := change()
	again.Files[0], again.Files[1] = again.Files[1], again.Files[0]
	again.Labels = []string{"pawl:loop", "pawl", "pawl"}
	if other := frozen(t, again); other.Seal != in.Seal {
		t.Errorf("order changes the intent:\n%+v\n%+v", in, other)
	}
	if !strings.HasPrefix(in.Branch, "pawl/loop-") || len(in.Branch) != len("pawl/loop-0123456789-012345") || !hasTrailer(in.CommitMessage, in.ID) || len(in.ID) != 32 {
		t.Errorf("%+v", in)
	}
	reworded := change()
	reworded.Title = "Other words"
	if other := frozen(t, reworded); other.ID != in.ID || other.Branch != in.Branch {
		t.Error("other words give another intent")
	}
	for name, spoil := range map[string]func(*Change){
		"repo":            func(c *Change) { c.Repo = "../../user" },
		"repo query":      func(c *Change) { c.Repo = "acme/shop?x=1#" },
		"base":            func(c *Change) { c.Base = "ma..in" },
		"path up":         func(c *Change) { c.Files[0].Path = "regressions/../.github/x" },
		"path outside":    func(c *Change) { c.Files[0].Path = "src/main.go" },
		"path absolute":   func(c *Change) { c.Files[0].Path = "/regressions/x" },
		"path .git":       func(c *Change) { c.Files[0].Path = "regressions/.GIT/config" },
		"path twice":      func(c *Change) { c.Files[1].Path = c.Files[0].Path },
		"path case":       func(c *Change) { c.Files[1].Path = strings.ToUpper(c.Files[0].Path[:12]) + c.Files[0].Path[12:] },
		"file and dir":    func(c *Change) { c.Files[1].Path = c.Files[0].Path + "/x" },
		"path hostile":    func(c *Change) { c.Files[0].Path = "regressions/@ana" },
		"no files":        func(c *Change) { c.Files = nil },
		"empty file":      func(c *Change) { c.Files[0].Content = "" },
		"binary":          func(c *Change) { c.Files[0].Content = "\xff\x00" },
		"dir":             func(c *Change) { c.Dir = "." },
		"title long":      func(c *Change) { c.Title = strings.Repeat("x", 120) },
		"title lines":     func(c *Change) { c.Title = "a\nb" },
		"title mention":   func(c *Change) { c.Title = "loop, @ana" },
		"title ref":       func(c *Change) { c.Title = "fixes #4" },
		"title ci":        func(c *Change) { c.Title = "x [skip ci]" },
		"title bidi":      func(c *Change) { c.Title = "x\u202e" },
		"no title":        func(c *Change) { c.Title = "" },
		"message trailer": func(c *Change) { c.CommitMessage = "x\n\nPawl-Intent: 1" },
		"message ci":      func(c *Change) { c.CommitMessage = "x\n\nskip-checks: true" },
		"branch":          func(c *Change) { c.Branch = "pawl/a b" },
		"branch lock":     func(c *Change) { c.Branch = "pawl/a.lock" },
		"branch foreign":  func(c *Change) { c.Branch = "feature/x" },
		"prefix":          func(c *Change) { c.Prefix = "Pawl/" },
		"slug":            func(c *Change) { c.Slug = "a/b" },
		"label":           func(c *Change) { c.Labels = []string{"a/../b"} },
		"label long":      func(c *Change) { c.Labels = []string{strings.Repeat("l", 51)} },
		"key":             func(c *Change) { c.Key = "" },
		"body hostile":    func(c *Change) { c.Body = []Block{{Text: "ping @ana"}} },
		"body long":       func(c *Change) { c.Body = []Block{{Text: strings.Repeat("x", MaxBody)}} },
		"identity":        func(c *Change) { c.Identities = []string{"\xff"} },
	} {
		c := change()
		spoil(&c)
		if in, err := Freeze(c); err == nil {
			t.Errorf("%s: accepted: %+v", name, in)
		}
	}
	long := change()
	long.Body = []Block{{Text: "why"}, {Text: Fence("", strings.Repeat("é", 40_000)), Optional: true}}
	long.Identities = make([]string, 100)
	for i := range long.Identities {
		long.Identities[i] = strings.Repeat("<&>", 20) + string(rune('a'+i%26)) + string(rune('a'+i/26))
	}
	if in := frozen(t, long); len(in.Body) > MaxBody {
		t.Errorf("%d bytes of body", len(in.Body))
	}
}

func TestTrailerJoinsItsParagraph(t *testing.T) {
	for in, want := range map[string]string{
		"a":                           "a\n\nPawl-Intent: 1\n",
		"a\n\nbody\n":                 "a\n\nbody\n\nPawl-Intent: 1\n",
		"a\n\nSigned-off-by: b <c>\n": "a\n\nSigned-off-by: b <c>\nPawl-Intent: 1\n",
		"fix: a":                      "fix: a\n\nPawl-Intent: 1\n",
	} {
		if got := withTrailer(in, "1", ""); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// git itself applies the diff and finds our blob ids.
func TestDiffApplies(t *testing.T) {
	in := frozen(t, change())
	dir := t.TempDir()
	git(t, filepath.Join(dir, ".git"), "init", "--quiet", dir)
	patch := filepath.Join(dir, "p.diff")
	must(t, os.WriteFile(patch, []byte(in.Diff()), 0o600))
	git(t, filepath.Join(dir, ".git"), "--work-tree", dir, "apply", "--cached", "--whitespace=nowarn", patch)
	staged := git(t, filepath.Join(dir, ".git"), "ls-files", "--stage")
	for _, f := range in.Files {
		if !strings.Contains(staged, "100644 "+f.Blob+" 0\t"+f.Path+"\n") {
			t.Errorf("%s %s not in\n%s", f.Blob, f.Path, staged)
		}
	}
}

func TestMarker(t *testing.T) {
	m := Marker{Version: 1, Intent: "i", Key: "k --> <x>", Identities: []string{"<!-- a -->"}, Labels: []string{"l"}}
	ours := RenderMarker(m, "our body\n")
	if strings.Count(ours, "-->") != 2 {
		t.Errorf("the comment opens up: %s", ours)
	}
	for name, text := range map[string]string{
		"as written":      ours,
		"text around":     "Before\n\n" + ours + "\n\nafter <!-- pawl:end -->",
		"crlf":            strings.ReplaceAll("Hello\n"+ours, "\n", "\r\n"),
		"broken begin":    "<!-- pawl:begin {broken -->\n" + ours,
		"begin, no end":   "<!-- pawl:begin {\"v\":1,\"intent\":\"z\",\"n\":999999} -->\n" + ours,
		"forged, unequal": "<!-- pawl:begin {\"v\":1,\"intent\":\"z\",\"n\":1} -->\nx\n<!-- pawl:end -->\n" + ours,
		"negative length": "<!-- pawl:begin {\"v\":1,\"intent\":\"z\",\"n\":-1} -->\n" + ours,
	} {
		got, body, ok := ParseMarker(text)
		if !ok || got.Intent != "i" || got.Key != m.Key || body != "our body\n" {
			t.Errorf("%s: %v %+v %q", name, ok, got, body)
		}
	}
	edited := strings.Replace(ours, "our body", "their body", 1)
	if got, body, ok := ParseMarker(edited); !ok || got.Intent != "i" || body != "their body\n" || hashText(body) == got.Hash {
		t.Errorf("edited: %v %+v %q", ok, got, body)
	}
	for _, none := range []string{"", "text", "<!-- pawl:begin {} -->\nx\n<!-- pawl:end -->", "<!-- pawl:begin"} {
		if _, _, ok := ParseMarker(none); ok {
			t.Errorf("found one in %q", none)
		}
	}
}

func FuzzMarker(f *testing.F) {
	for _, s := range []string{"", "x", "\n<!-- pawl:end -->", "<!-- pawl:begin {\"v\":1,\"intent\":\"z\",\"n\":0} -->\n\n<!-- pawl:end -->", "\r\n", "\xff", "-->"} {
		f.Add(s, s, s)
	}
	f.Fuzz(func(t *testing.T, body, before, after string) {
		m := Marker{Version: 1, Intent: "i", Key: strings.ToValidUTF8(before, "?"), Identities: []string{strings.ToValidUTF8(after, "?")}}
		text := RenderMarker(m, body)
		got, back, ok := ParseMarker(text)
		if !ok || back != body || got.Intent != m.Intent || got.Key != m.Key || got.Identities[0] != m.Identities[0] {
			t.Fatalf("%q came back as %v %+v %q", body, ok, got, back)
		}
		if strings.Contains(before, beginMark) {
			return // people's text that looks like ours: no promise but to stay up
		}
		if _, back, ok = ParseMarker(before + text + after); !ok || back != body {
			t.Fatalf("with text around: %v %q", ok, back)
		}
	})
}

func FuzzParseMarker(f *testing.F) {
	f.Add("<!-- pawl:begin {\"v\":1,\"intent\":\"z\",\"n\":0} -->\n\n<!-- pawl:end -->")
	f.Fuzz(func(t *testing.T, s string) { _, _, _ = ParseMarker(s) })
}

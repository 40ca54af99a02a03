package ghpr

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// attacks are words that a trace may hold.
var attacks = []string{"@ana", "# heading", "fixes #1", "closes acme/shop#2", "GH-3", "![x](http://evil.test/p.png)", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>",
	"<script>x</script>", "</details>", "</summary></details># out", "http://evil.test", "www.evil.test", "a@evil.test", "mailto:a@evil.test", "ftp://evil.test/x", "xmpp:a@b.test/c", "```\n# out\n```", "````", "`", "``a`", "~~~\nx\n~~~",
	"\u202eevil", "a\u200bb", "/close", "> quote", "- [ ] task", "| a | b |\n|---|---|\n| c | d |", "a\n---\nb", "a\n===\n", "\n\n    code", "\t@x", "<!-- x -->", "<a href=x>", "<b", "[^1]\n\n[^1]: note",
	"[ref]: http://evil.test\n\n[ref]", "&lt;img&gt;", "&#64;ana", "&commat;ana", "\\@ana", "$x$ $$y$$", "\\`", "a\\|b", "<http://evil.test>", "https://github.com/a/b/pull/1", ":tada:", "a\u2028# b", "\x00",
	"5f4dcc3b5aa765d61d8327deb882cf99aaaaaaaa", "acme/shop@5f4dcc3b5aa765d61d8327deb882cf99aaaaaaaa", "안녕하세요", "مرحبا #1", "👩‍👩‍👧", "<details open><summary>", "*a* _b_ ~~c~~", "<svg/onload=x>", "]]>", "<?php ?>", "<![CDATA[x"}

// dressed puts a text into every place where a pull request may have words from outside.
func dressed(s string) string {
	return "Why: " + Inline(s, 200) + " and on.\n\n| a | b |\n|---|---|\n| " + Inline(s, 40) + " | " + Inline(s, 9) + " |\n\n- one: " + Inline(s, 200) + "\n- two\n\n**Bold**, then " + Inline(s, 20) + ".\n\n" +
		Details(s, "Said:\n\n"+Fence(s, s)+"\nand:\n\n"+Fence("yaml", s)) + "\n" + Details("fixed", Inline(s, 100)) + "\nlast.\n"
}

func parsed(body string) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader([]byte(body)))
}

// skeleton is the document's shape without its words.
func skeleton(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		switch {
		case n.Kind() == ast.KindText || n.Kind() == ast.KindString:
		case in:
			b.WriteString(n.Kind().String() + "(")
		default:
			b.WriteString(")")
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

var anyTag = regexp.MustCompile(`<[^>]*>?`)

// tags are the raw HTML of a document, in order.
func tags(body string) (out []string) {
	_ = ast.Walk(parsed(body), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if b, is := n.(*ast.HTMLBlock); is && in {
			out = append(out, anyTag.FindAllString(string(b.Lines().Value([]byte(body))), -1)...)
		}
		if r, is := n.(*ast.RawHTML); is && in {
			out = append(out, string(r.Segments.Value([]byte(body))))
		}
		return ast.WalkContinue, nil
	})
	return out
}

// loose is what is written outside of code: there GitHub looks for names and references.
func loose(body string) string {
	var b strings.Builder
	_ = ast.Walk(parsed(body), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if in {
				b.Write(n.Segment.Value([]byte(body)))
				b.WriteByte('\n')
			}
		case *ast.HTMLBlock:
			if in {
				b.Write(n.Lines().Value([]byte(body)))
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

var alive = regexp.MustCompile(`@\w|#\d|(?i:\bgh-\d)|(?i:\bhttps?://)|\bwww\.|\b[0-9a-f]{40}\b`)

type form struct{ shape, tags string }

// tame is what a word that can do nothing makes.
var tame = sync.OnceValue(func() form {
	plain := dressed("word")
	return form{skeleton(parsed(plain)), strings.Join(tags(plain), "")}
})

// harmless says what a text from outside does to the pull request that quotes it: nothing may change but words.
func harmless(t *testing.T, s string) {
	t.Helper()
	body, want := dressed(s), tame()
	if got := skeleton(parsed(body)); got != want.shape {
		t.Errorf("%q changes the document:\n%s\n%s\n%s", s, got, want.shape, body)
	}
	if got := strings.Join(tags(body), ""); got != want.tags {
		t.Errorf("%q brings HTML: %s", s, got)
	}
	if at := alive.FindString(loose(body)); at != "" {
		t.Errorf("%q: %q is alive outside of code", s, at)
	}
	if err := checkBody(body); err != nil {
		t.Errorf("%q: %v", s, err)
	}
}

func TestMarkdownAttacks(t *testing.T) {
	for i, a := range attacks {
		harmless(t, a)
		for j, b := range attacks {
			if (i+j)%5 == 0 || *full {
				harmless(t, a+"\n"+b)
			}
		}
	}
}

// FuzzMarkdown: whatever a trace says, GitHub's Markdown sees the same document with other words in its code.
func FuzzMarkdown(f *testing.F) {
	for _, a := range attacks {
		f.Add(a)
	}
	f.Fuzz(harmless)
}

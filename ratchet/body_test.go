package ratchet

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

var worst = flag.String("worst", "", "write the worst pull requests as HTML pages to this directory")

const (
	attack = "Ignore all that. @acme/everyone fixes #1, closes acme/shop#2 GH-3\n\n</code></pre></details>\n\n# APPROVED BY SECURITY\n\n![t](https://evil.test/p.png) [click](javascript:alert(1)) " +
		"<img src=x onerror=alert(1)> <script>alert(1)</script>\n```\n\n| merged | yes |\n|---|---|\n| a | b |\n\n<!-- pawl:end -->\n/merge\n@dependabot merge\n[skip ci]\nSigned-off-by: eve\n" +
		"\u202egnp.exe\u202c zero\u200bwidth https://github.com/acme/shop/pull/1 www.evil.test $\\\\color{red}{x}$ ````` ~~~ <svg/onload=x> &#64;ana &commat;ana"
	manyScripts = "주문을 찾을 수 없습니다. 고객님께 사과드립니다 🙇‍♀️ ثم قال العميل: أين طردي؟ رقم الطلب ٤٢ — 👩‍👩‍👧‍👦🇰🇷🏴‍☠️ e\u0301 ไม่พบคำสั่งซื้อ 注文が見つかりません"
)

func worstBatches() map[string]*Batch {
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	batch := func(n int, service string, member func(int, *Member)) *Batch {
		b := &Batch{Repo: "acme/shop", Base: "main", Set: "regressions", Label: "loop", Service: service, Number: 1, Opened: at,
			Advisory: []string{"no rule requires the check pawl verify", "code owners do not review"}}
		for i := range n {
			id := fmt.Sprintf("%064x", i*7919+1)
			m := Member{Fingerprint: id, CaseID: fmt.Sprintf("loop-%010x", i*7919+1), CaseDigest: id, TraceID: id[:32], Title: "get_order called 6 times with the same arguments",
				Rule: "loop@1", Confidence: 0.98, Count: 7 + i, FirstSeen: at, LastSeen: at.Add(time.Hour), Shown: "on the recording", Known: "was right in 204 of 204 judged findings (captures workbench, 2026-11-30)",
				Why: "get_order was called 6 times with the same arguments, and each call gave the same result."}
			member(i, &m)
			b.Join(m)
		}
		return b
	}
	return map[string]*Batch{
		"hundred": batch(100, "shop-support-agent", func(i int, m *Member) {
			m.Title, m.Escaped, m.Weak = strings.Repeat("get_customer_order_history_v2 ", 4), i%17 == 0, i%3 == 0
			m.Shown = shown(&regcase.Live{Commit: strings.Repeat("a", 40), Red: i % 6, Of: 5})
			m.Began = "of 120 traces before and 9 since, the model changed from `gpt-4.1-2025-04-14` to `gpt-5-mini`"
		}),
		"attack": batch(2, "shop`|<b>@ana #1", func(i int, m *Member) {
			m.Title, m.Why, m.Gone = attack, attack, []string{"", attack}[i]
			m.Began = "the model changed from " + ghpr.Inline(attack, 80) + " to " + ghpr.Inline("b", 80)
		}),
		"scripts": batch(3, "고객-지원-에이전트", func(_ int, m *Member) { m.Title, m.Why = manyScripts, manyScripts+"\n\n"+manyScripts }),
	}
}

var rawTag = regexp.MustCompile(`<(/?[a-zA-Z!?][^\s>/]*)[^>]*>`)

// page renders a body as GitHub would, which has no HTML of its own left in it but what Markdown makes.
func page(t *testing.T, body string) string {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	var b bytes.Buffer
	if err := md.Convert([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The worst pull requests stay in their bounds, and nothing in them acts.
func TestWorstPullRequests(t *testing.T) {
	allowed := strings.Fields("p /p strong /strong em /em code /code pre /pre table /table thead /thead tbody /tbody tr /tr th /th td /td ul /ul li /li details /details summary /summary !--")
	for name, b := range worstBatches() {
		text := map[string]string{"hundred": "Where is my order?", "attack": attack, "scripts": manyScripts}[name]
		c, err := b.Change(func(m Member) (string, string, error) {
			return "kind: Case\nid: " + m.CaseID + "\ninput:\n    turns:\n        - user: |\n            " + strings.ReplaceAll(text, "\n", "\n            ") + "\n" + strings.Repeat("# more\n", 40), `{"resourceSpans":[]}`, nil
		})
		if err != nil {
			t.Fatal(name, err)
		}
		in, err := ghpr.Freeze(c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		shownPage := page(t, in.Body)
		if len(in.Body) > ghpr.MaxBody || strings.Count(shownPage, "<details>") != strings.Count(shownPage, "</details>") {
			t.Errorf("%s: %d bytes, or a block is cut", name, len(in.Body))
		}
		for _, m := range rawTag.FindAllStringSubmatch(shownPage, -1) {
			if !slices.Contains(allowed, m[1]) {
				t.Errorf("%s: the page has a <%s>", name, m[1])
			}
		}
		for _, want := range []string{"When it began", "How often these rules are right", "See it yourself", "Merging", "Closing", b.Members[0].CaseID} {
			if !strings.Contains(in.Body, want) {
				t.Errorf("%s: does not say %q", name, want)
			}
		}
		if *worst != "" {
			write(t, name, in.Title, shownPage)
		}
	}
}

func write(t *testing.T, name, title, body string) {
	t.Helper()
	const style = `body{font:14px/1.5 -apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif;color:#1f2328;max-width:880px;margin:24px auto;padding:16px;border:1px solid #d1d9e0;border-radius:6px;overflow-wrap:break-word}
code{font:12px ui-monospace,Menlo,Consolas,monospace;background:#818b981f;padding:.2em .4em;border-radius:6px;white-space:break-spaces}pre{background:#f6f8fa;padding:16px;overflow:auto;border-radius:6px}pre code{background:none;padding:0;white-space:pre}
table{border-collapse:collapse;display:block;width:max-content;max-width:100%;overflow:auto}td,th{border:1px solid #d1d9e0;padding:6px 13px}tr:nth-child(2n){background:#f6f8fa}ul{padding-left:2em}h1{border-bottom:1px solid #d1d9e0}`
	out := "<!doctype html><meta charset=utf-8><style>" + style + "</style><h2 style='font-weight:400'>" + title + "</h2>" + body
	if err := os.WriteFile(filepath.Join(*worst, name+".html"), []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
}

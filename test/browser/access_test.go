package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestAccessibility asks axe-core about every page, light and dark, wide and narrow.
func TestAccessibility(t *testing.T) {
	path := os.Getenv("PAWL_AXE")
	if path == "" {
		t.Skip("PAWL_AXE names no axe.min.js: npm pack axe-core has it")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, 300, 200, "")
	awaitTraces(t, s)
	p := open(t, s)
	p.audit(string(axe), "/name")
	p.called("Ana")
	checked := 0
	for _, path := range everyPage(t, s) {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 400} {
				p.as(width, scheme)
				p.audit(string(axe), path)
				checked++
			}
		}
	}
	p.as(1280, "light")
	p.visit("/")
	for _, key := range []string{"?", "l", "d", "s"} { // open dialogs
		p.press("j" + key)
		p.audit(string(axe), "")
		p.press(kb.Escape)
	}
	t.Logf("%d views of %d pages", checked, checked/4)
}

type violation struct {
	ID, Impact, Help string
	Nodes            []struct{ HTML, FailureSummary string }
}

// audit fails the test for every violation of WCAG 2.2 AA or of good practice on a page; "" is the page as it stands.
func (p *page) audit(axe, path string) {
	p.t.Helper()
	if path != "" {
		p.visit(path)
	}
	value[bool](p, axe+"; true")
	ctx := p.ctx
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]violation](`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) => r.violations.map((v) => ({ID: v.id, Impact: v.impact, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 200), FailureSummary: n.failureSummary}))})))`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
	for _, v := range found {
		p.t.Errorf("%s: %s (%s): %s", path, v.ID, v.Impact, v.Help)
		for _, n := range v.Nodes {
			p.t.Logf("    %s\n        %s", n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", "\n        "))
		}
	}
}

// TestLogin: with tokens a person logs in, sees the role, and logs out.
func TestLogin(t *testing.T) {
	t.Setenv("PAWL_TEST_VIEWER", "viewer-token-of-this-test")
	s := start(t, 12, 20, "auth: {tokens: [{name: vi, role: viewer, token: \"${env:PAWL_TEST_VIEWER}\"}]}\n")
	p := open(t, s)
	p.do(chromedp.Navigate(p.url+"/pulls"), chromedp.WaitReady("#token"))
	p.press("wrong" + kb.Enter)
	p.await("a wrong token is said", `document.querySelector("#problem")?.textContent.includes("none of the tokens")`)
	p.press("viewer-token-of-this-test" + kb.Enter)
	p.await("the page that was asked for", `location.pathname === "/pulls" && document.querySelector(".who")?.textContent.includes("viewer")`)
	p.visit("/")
	p.press("j" + kb.Enter)
	p.await("a viewer is told so", `document.querySelector("aside")?.textContent.includes("Your role, viewer, reads")`)
	p.tabTo("Log out")
	p.press(kb.Enter)
	p.await("logged out", `location.pathname === "/login"`)
	p.do(chromedp.Navigate(p.url+"/pulls"), chromedp.WaitReady("#token"))
	p.sound()
}

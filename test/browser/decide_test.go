package browser

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// group is a group as the API tells it.
type group struct {
	ID        string   `json:"id"`
	Label     string   `json:"label"`
	Life      string   `json:"life"`
	Batch     string   `json:"batch"`
	Count     int      `json:"count"`
	Services  []string `json:"services"`
	Traces    []string `json:"traces"`
	Into      string   `json:"into"`
	Snoozed   *string  `json:"snoozed_until"`
	Decisions []struct {
		Who, Choice, As, Reason string
		Undone                  bool
	} `json:"decisions"`
}

func (s service) group(t *testing.T, id string) (g group) {
	t.Helper()
	s.get(t, "/v1/groups/"+id, &g)
	return g
}

// last is the latest decision on a group, as who choice as.
func (g group) last() string {
	if len(g.Decisions) == 0 {
		return ""
	}
	d := g.Decisions[len(g.Decisions)-1]
	return strings.TrimSpace(d.Who + " " + d.Choice + " " + d.As)
}

// deck deals groups that nobody has decided on and that are in no pull request.
type deck struct {
	t         *testing.T
	plain, of []group // without a label, and with a label that has cases
}

func deal(t *testing.T, s service) *deck {
	t.Helper()
	d := &deck{t: t}
	var gs []group
	s.get(t, "/v1/groups", &gs)
	for _, g := range gs {
		switch {
		case len(g.Decisions) > 0 || g.Batch != "" || g.Life == "resolved" || len(g.Traces) < 2:
		case g.Label == "unclassified":
			d.plain = append(d.plain, g)
		case g.Label != "cost_spike":
			d.of = append(d.of, g)
		}
	}
	return d
}

func take(t *testing.T, from *[]group) group {
	t.Helper()
	if len(*from) == 0 {
		t.Fatal("no group is left to decide on")
	}
	g := (*from)[0]
	*from = (*from)[1:]
	return g
}

// said waits for the notice that a decision leaves.
func (p *page) said(text string) {
	p.t.Helper()
	p.await("the notice "+text, `document.querySelector(".notice p")?.textContent.includes(`+quoted(text)+`)`)
	p.sound()
}

// tabTo presses Tab until what has the focus is called so.
func (p *page) tabTo(name string) {
	p.t.Helper()
	for range 120 {
		p.press(kb.Tab)
		if value[bool](p, `((e) => (e.labels?.[0]?.innerText || e.innerText || e.value || "").trim().startsWith(`+quoted(name)+`))(document.activeElement)`) {
			return
		}
	}
	p.t.Fatalf("Tab never comes to %q\n%s", name, p.looks())
}

// TestDecideByKeys makes every decision without a pointer: those of the inbox by their keys, the others by Tab and Enter on the group's page.
func TestDecideByKeys(t *testing.T) {
	s := start(t, 600, 40, "")
	p := open(t, s)
	p.called("Ana")
	d := deal(t, s)
	row := func(id string) {
		p.visit("/?life=all&q=" + url.QueryEscape(id))
		p.press("j")
		p.await("the row has the focus", `document.activeElement?.closest("[data-group]")?.dataset.group === `+quoted(id))
	}
	was := func(id, want string) {
		t.Helper()
		if got := s.group(t, id).last(); got != want {
			t.Errorf("the latest decision on %s is %q, want %q", id, got, want)
		}
	}
	g := take(t, &d.of)
	row(g.ID)
	p.press("d")
	p.press(" " + kb.Tab + "polling is its purpose" + kb.Enter)
	p.said("Dismissed as false alarm")
	was(g.ID, "Ana dismiss false_alarm")
	p.press("u")
	p.said("Taken back")
	was(g.ID, "Ana undo")

	row(g.ID)
	p.press("a")
	p.press("seen often enough" + kb.Enter)
	p.said("Approved")
	was(g.ID, "Ana approve")

	g = take(t, &d.of)
	row(g.ID)
	p.press("n")
	p.press("not worth a case" + kb.Enter)
	p.said("Denied")
	was(g.ID, "Ana deny")
	p.visit("/groups/" + g.ID)
	p.tabTo("Revive")
	p.press(kb.Enter)
	p.said("Revived")
	was(g.ID, "Ana revive")

	g = take(t, &d.of)
	row(g.ID)
	p.press("s")
	p.press(kb.Tab + "after the release" + kb.Enter)
	p.said("Snoozed until")
	if g := s.group(t, g.ID); g.Snoozed == nil || g.Life != "ignored" {
		t.Errorf("it is not snoozed: %+v", g)
	}
	p.visit("/groups/" + g.ID)
	p.tabTo("Wake")
	p.press(kb.Enter)
	p.said("Woken")
	was(g.ID, "Ana wake")

	g = take(t, &d.plain)
	row(g.ID)
	p.press("l")
	p.press("wrong_currency" + kb.Tab + "euros for dollars" + kb.Enter)
	p.said("Labelled wrong_currency")
	if now := s.group(t, g.ID); now.Label != "wrong_currency" && now.Into == "" {
		t.Errorf("the label is not there: %+v", now)
	}
	p.visit("/?life=all&label=wrong_currency")
	p.press("jp")
	p.await("p leads to a rule for the label", `document.querySelector("h1")?.textContent === "From label to rule"`)
	p.tabTo("Propose rules")
	p.press(kb.Enter)
	p.await("rules are proposed, or why there are none", `document.querySelector("main p")?.innerText.length > 0 && document.querySelector("main").innerText.includes("Propose again")`)
	p.sound()

	g = take(t, &d.of)
	p.visit("/groups/" + g.ID)
	p.tabTo("Split")
	p.press(kb.Enter)
	p.tabTo(g.Traces[0][:8])
	p.press(" ")
	p.tabTo("Why")
	p.press("another tool" + kb.Enter)
	p.said("Split off into")
	p.await("the page is that of the new group", `!location.pathname.endsWith(`+quoted(g.ID)+`)`)

	g, into := mates(t, d)
	p.visit("/groups/" + g.ID)
	p.tabTo("Merge")
	p.press(kb.Enter)
	p.tabTo("Into the group")
	p.press(into.ID)
	p.press(kb.Tab + "one and the same" + kb.Enter)
	p.said("Merged into " + into.ID)
	p.await("the page is that of the group that counts now", `location.pathname.endsWith(`+quoted(into.ID)+`)`)
}

// mates are two groups of one label and service.
func mates(t *testing.T, d *deck) (group, group) {
	t.Helper()
	for {
		a := take(t, &d.of)
		if i := slices.IndexFunc(d.of, func(g group) bool { return g.Label == a.Label && g.Services[0] == a.Services[0] }); i >= 0 {
			b := d.of[i]
			d.of = slices.Delete(d.of, i, i+1)
			return a, b
		}
	}
}

// TestDecideByMouse makes every decision on the group's page with the pointer, with and without script.
func TestDecideByMouse(t *testing.T) {
	s := start(t, 600, 40, "")
	for _, script := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", script), func(t *testing.T) {
			p := open(t, s)
			p.called("Bo")
			if !script {
				if _, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
					t.Fatal(err)
				}
			}
			p.decideByMouse(s)
		})
	}
}

func (p *page) decideByMouse(s service) {
	t := p.t
	t.Helper()
	d := deal(t, s)
	form := func(g group, choice string) string {
		at := "#d-" + choice
		p.visit("/groups/" + g.ID)
		if !value[bool](p, `document.querySelector(`+quoted(at)+`).open`) {
			p.do(chromedp.Click(chromedp.CSS(at + " > summary")))
		}
		return at + " "
	}
	sent := func(at, said string) {
		t.Helper()
		p.do(chromedp.Click(chromedp.CSS(at + "button.go")))
		p.said(said)
	}
	button := func(choice, said string) {
		t.Helper()
		p.do(chromedp.Click(`//form[input[@name="choice" and @value="` + choice + `"]]/button`))
		p.said(said)
	}
	g := take(t, &d.of)
	for as, words := range map[string]string{"intended": "Dismissed as intended", "duplicate": "Dismissed as duplicate", "not_ours": "Dismissed as not ours"} {
		at := form(g, "dismiss")
		p.do(chromedp.Click(chromedp.CSS(at+`[value="`+as+`"]`)), chromedp.SendKeys(chromedp.CSS(at+"[name=reason]"), "so it is"))
		sent(at, words)
		button("undo", "Taken back")
	}
	at := form(g, "approve")
	sent(at, "Approved")
	button("undo", "Taken back")
	at = form(g, "deny")
	p.do(chromedp.SendKeys(chromedp.CSS(at+"[name=reason]"), "no"))
	sent(at, "Denied")
	button("revive", "Revived")
	at = form(g, "snooze")
	p.do(chromedp.SetValue(chromedp.CSS(at+"select"), "30"))
	sent(at, "Snoozed until "+time.Now().UTC().AddDate(0, 0, 30).Format("2 Jan 2006"))
	button("wake", "Woken")

	g = take(t, &d.plain)
	at = form(g, "label")
	p.do(chromedp.SendKeys(chromedp.CSS(at+"[name=label]"), "loop"))
	sent(at, "Labelled loop")
	button("undo", "Taken back")

	g = take(t, &d.of)
	at = form(g, "split")
	p.do(chromedp.Click(chromedp.CSS(at + "[name=trace]")))
	sent(at, "Split off into")

	g, into := mates(t, d)
	at = form(g, "merge")
	p.do(chromedp.SendKeys(chromedp.CSS(at+"[name=into]"), into.ID), chromedp.SendKeys(chromedp.CSS(at+"[name=reason]"), "one bug"))
	sent(at, "Merged into "+into.ID)
}

// TestRefusalsAreSaid: what cannot be decided so is said on the page, and nothing changes.
func TestRefusalsAreSaid(t *testing.T) {
	s := start(t, 60, 40, "")
	p := open(t, s)
	d := deal(t, s)
	g := take(t, &d.plain)
	p.visit("/groups/" + g.ID)
	p.press("l")
	p.await("a person without a name is asked for it", `location.pathname === "/name" && document.activeElement?.id === "name"`)
	p.press("Ana" + kb.Enter)
	p.await("and comes back", `location.pathname === `+quoted("/groups/"+g.ID))
	p.press("l")
	p.press("unclassified" + kb.Enter)
	p.said("Unclassified is what it is called without a label")
	if got := s.group(t, g.ID); len(got.Decisions) > 0 {
		t.Errorf("it was decided: %+v", got)
	}
}

// TestKeys: the keys move and search, and help says which there are.
func TestKeys(t *testing.T) {
	s := start(t, 120, 40, "")
	p := open(t, s)
	p.visit("/")
	at := `[...document.querySelectorAll("[data-row]")].findIndex((row) => row.contains(document.activeElement))`
	for _, k := range []struct {
		key  string
		want int
	}{{"j", 0}, {"j", 1}, {"j", 2}, {"k", 1}, {"k", 0}, {"k", 0}} {
		p.press(k.key)
		if got := value[int](p, at); got != k.want {
			t.Errorf("after %s row %d has the focus, want %d", k.key, got, k.want)
		}
	}
	p.press("?")
	p.await("help is open", `document.querySelector("#help").open`)
	p.press(kb.Escape)
	p.await("help is closed", `!document.querySelector("#help").open`)
	p.press("/")
	p.press("jda" + kb.Enter) // letters in a field are letters
	p.await("the search is made", `new URL(location.href).searchParams.get("q") === "jda"`)
	p.visit("/")
	p.press("j" + kb.Enter)
	p.await("Enter opens the row", `location.pathname.startsWith("/groups/")`)
	p.press("gt")
	p.await("g t goes to the traces", `location.pathname === "/traces"`)
	p.press(kb.Tab)
	if got := value[string](p, `document.activeElement.className`); got != "skip" {
		t.Errorf("the first Tab comes to %q, want the link that skips to the content", got)
	}
}

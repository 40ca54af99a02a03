package ratchet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/custom"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

// manyCalls is a rule of a team's own, as it is offered.
func manyCalls(t *testing.T, when string) Offer {
	t.Helper()
	rules, problems, err := custom.New([]custom.Definition{{Name: "many_calls", When: when, Evidence: "t.model_calls", Why: "The run made at least three tool calls"}}, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	engine, err := classify.New(quiet, append(rule.All(), rules[0]), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Offer{Rule: rules[0], Engine: engine, Files: RuleFiles{Name: "many_calls", Dir: "pawl-rules", Says: "made many calls", Trial: "It finds 3 of 3.",
		Files: []ghpr.File{{Path: "pawl-rules/many_calls.yaml", Content: "custom: []\n"}, {Path: "pawl-rules/many_calls/match-1.txtar", Content: "x\n"}}}}
}

// A rule goes into a pull request with cases that it finds, by the way of every batch, and the failures that it tells apart point there.
func TestOfferedRuleBecomesAPullRequest(t *testing.T) {
	q, f := testQueue(t), testFake(t)
	failures(t, q, 1, 2)
	a := testAbsorber(t, q, f)
	if err := a.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := groupLabelled(t, a, classify.Loop)
	for want, try := range map[string]func() error{
		"by name":                func() error { _, err := a.OfferRule(t.Context(), id, "", noon, manyCalls(t, "true")); return err },
		"finds nothing in trace": func() error { _, err := a.OfferRule(t.Context(), id, "ana", noon, manyCalls(t, "false")); return err },
		"no rule to offer":       func() error { _, err := a.OfferRule(t.Context(), id, "ana", noon, Offer{}); return err },
	} {
		if err := try(); !refusal(err, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	o, err := a.OfferRule(t.Context(), id, "ana", noon, manyCalls(t, "t.tool_calls.size() >= 3"))
	if err != nil || len(o.Cases) == 0 || o.Rule != "many_calls" {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := a.OfferRule(t.Context(), id, "ben", noon, manyCalls(t, "t.tool_calls.size() >= 3")); !refusal(err, "was offered by ana already") {
		t.Errorf("offered twice: %v", err)
	}
	eraseRule(t, a, o)
	sweep(t, a, noon)
	found := false
	for _, p := range f.Pulls("acme", "parcels") {
		if !strings.Contains(p.Title, "a rule and a regression case for many_calls") {
			continue
		}
		found = true
		b, err := a.batch(t.Context(), o.Batch)
		if err != nil {
			t.Fatal(err)
		}
		paths := ""
		for _, file := range b.Intent.Files {
			paths += file.Path + "\n"
		}
		for _, want := range []string{"pawl-rules/many_calls.yaml\n", "pawl-rules/many_calls/match-1.txtar\n", "regressions/many_calls/" + o.Cases[0] + "/case.yaml\n"} {
			if !strings.Contains(paths, want) {
				t.Errorf("no %s among\n%s", want, paths)
			}
		}
		if !strings.Contains(p.Body, "A rule comes with it") || !strings.Contains(p.Body, "what ` ana ` labelled") {
			t.Errorf("body:\n%s", p.Body)
		}
	}
	if !found {
		t.Fatalf("no pull request with the rule: %+v", f.Pulls("acme", "parcels"))
	}
	if err := NewAbsorber(quiet, q, a.maker, a.pr, a.opts).rederive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := previewed(t, a, o.Cases[0])
	if p.Pull == nil || p.Pull.State != "open" || !p.Sent {
		t.Errorf("the case's own group: %+v", p)
	}
	if log := told(t, a); len(log) == 0 || log[0].Decision.Choice != ChoiceOffer || log[0].Decision.Who != "ana" {
		t.Errorf("audit %+v", log)
	}
	sweep(t, a, noon.Add(time.Hour))
	if n := len(f.Pulls("acme", "parcels")); n != 4 {
		t.Errorf("%d pull requests, want 4", n)
	}
}

// A rule that is offered during the warm-up is ready, says what it waits for, and is sent once somebody opens the repository.
func TestOfferedRuleInTheWarmUp(t *testing.T) {
	a, f, rounds := paced(t, Options{WarmUp: 24 * time.Hour})
	failures(t, a.q, 1, 2)
	rounds(1, time.Minute)
	o, err := a.OfferRule(t.Context(), groupLabelled(t, a, classify.Loop), "ana", noon, manyCalls(t, "t.tool_calls.size() >= 3"))
	if err != nil {
		t.Fatal(err)
	}
	rounds(2, time.Minute)
	b, err := a.batch(t.Context(), o.Batch)
	if err != nil {
		t.Fatal(err)
	}
	if state, _, why := b.Status(); state != "waiting" || !strings.HasPrefix(why, "warm-up until 2026-12-01 12:0") || !strings.HasSuffix(why, "or until `pawl open acme/parcels`") {
		t.Errorf("%s: %s", state, why)
	}
	if err := a.Open(t.Context(), noon, "acme/parcels", "ana"); err != nil {
		t.Fatal(err)
	}
	rounds(3, 5*time.Minute)
	if b, err = a.batch(t.Context(), o.Batch); err != nil {
		t.Fatal(err)
	}
	if state, url, why := b.Status(); state != "open" || url == "" || why != "" {
		t.Errorf("%s %s: %s, of %+v", state, url, why, f.Pulls("acme", "parcels"))
	}
}

// What a person named and no rule sees says what to do, and then what was done.
func TestNamedAndUnseen(t *testing.T) {
	g := Group{Fingerprint: classify.Fingerprint{Label: "wrong_currency"}, Form: classify.FormNone, Decisions: []Decision{{Choice: ChoiceLabel, Who: "ana"}}}
	if due, why := (Policy{}).Due(&g); due || !strings.Contains(why, "propose a rule of it") {
		t.Error(due, why)
	}
	g.Offer = &Offered{Rule: "dollars", Who: "ana", Batch: "acme/shop main wrong_currency shop 1"}
	if due, why := (Policy{}).Due(&g); due || why != "the rule dollars was offered by ana: its cases are in batch acme/shop main wrong_currency shop 1" {
		t.Error(due, why)
	}
}

// eraseRule erases a person's value from a rule that has not left.
func eraseRule(t *testing.T, a *Absorber, o Offered) {
	t.Helper()
	subject, err := redact.NewSubject("chenwei.huang")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.changeBatch(t.Context(), o.Batch, func(b *Batch) error { b.Rule.Files[1].Content = "user I am chenwei.huang\n"; return nil }); err != nil {
		t.Fatal(err)
	}
	e, err := a.Erase(t.Context(), subject, false)
	if err != nil || !slices.Contains(e.Withdrawn, "testdata of the rule many_calls") {
		t.Errorf("%+v, %v", e, err)
	}
	b, err := a.batch(t.Context(), o.Batch)
	if err != nil || strings.Contains(b.Rule.Files[1].Content, "chenwei") {
		t.Errorf("%q, %v", b.Rule.Files[1].Content, err)
	}
}

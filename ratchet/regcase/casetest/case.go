// Package casetest makes arbitrary valid cases for property tests: of the format itself, of the order on cases, and of the judgement of runs.
//
// Values come from small vocabularies, so that two cases of two seeds often agree in a field, and a trajectory made of the same words often
// meets what a case expects. The same seed gives the same case.
package casetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

// The vocabularies that the cases are made of.
var (
	tools   = []string{"get_order", "search_orders", "refund", "send_email", "upsert_product"}
	nodes   = []string{"triage", "orders", "billing"}
	texts   = []string{"where is my order?", "line one\nline two: - {not yaml} #\n", " leading and trailing ", "환불해 주세요", "null", "12", "- a", "tab\tand \"quotes\" \\ '", "\u2028", "yes", "a: b", "? x", "!t", "&a *a", "---\n...", "café \U0001F600", "\r\n"}
	values  = []string{`"ORD-1"`, `"ORD-2"`, `12345678901234567890`, `1.50`, `true`, `null`, `["a",{"b":[]}]`, `{"k":"<v>"}`, `""`, `"plain: text"`, `-0.0e10`, `"tab\tnew\nline"`}
	pointer = []string{"/order_id", "/query", "/limit", "/items/0/sku", "/a~1b", ""}
)

// Tools are the names of the tools that Case speaks of.
func Tools() []string { return slices.Clone(tools) }

// Case returns an arbitrary valid case: every form, state and optional part occurs.
func Case(r *rand.Rand) regcase.Case {
	fp := Fingerprint(r)
	c := regcase.Case{
		APIVersion: regcase.APIVersion, Kind: regcase.Kind, ID: fp.ID(), Title: title(r), Form: "never", State: State(r),
		Owner: maybe(r, pick(r, []string{"ana", "@acme/agents"})), Labels: []string{string(fp.Label)}, Fingerprint: fp,
		Provenance: provenance(r), Context: context(r), Input: Input(r), Tools: offered(r), Fixtures: Fixtures(r), Expect: Expect(r, fp.Label),
		Runs: Runs(r), Live: live(r), Green: green(r), Trace: regcase.TraceFile{File: regcase.JSONFile, SHA256: digest(r)},
	}
	if r.IntN(4) == 0 {
		c.Labels = append(c.Labels, "unsafe_retry")
	}
	c.Form = form(r, &c)
	c.Weak = c.Expect.Trajectory == nil && c.Expect.Response == nil && len(c.Expect.Criteria) == 0
	return c
}

// form picks one that the case's parts allow, adding what it demands.
func form(r *rand.Rand, c *regcase.Case) string {
	switch r.IntN(4) {
	case 0:
		c.Expect.Budget = Budget(r)
		if r.IntN(2) == 0 {
			c.Expect.Never = []regcase.Never{}
		}
		return string(classify.FormBudget)
	case 1:
		fault := pick(r, []string{"error", "denied", "timeout", "missing"})
		c.Fixtures = append(c.Fixtures, regcase.Fixture{Tool: pick(r, tools), Arguments: arguments(r), Fault: &fault, From: "recording"})
		return string(classify.FormFault)
	}
	return string(classify.FormNever)
}

// Fingerprint returns one of a few failures.
func Fingerprint(r *rand.Rand) classify.Fingerprint {
	service, agent := pick(r, []string{"shop", "desk"}), pick(r, []string{"support", ""})
	switch r.IntN(3) {
	case 0:
		return classify.NewFingerprint(classify.Loop, service, agent, classify.Names("tools", pick(r, tools), pick(r, tools)), classify.Number("period", 1+r.IntN(3)), classify.Word("result", "same"))
	case 1:
		return classify.NewFingerprint(classify.HallucinatedTool, service, agent, classify.Name("name", pick(r, tools)))
	}
	return classify.NewFingerprint(classify.SchemaViolation, service, agent, classify.Name("tool", pick(r, tools)), classify.Pointer("pointer", []string{"items", "0"}), classify.Word("keyword", "required"))
}

// State returns a state with what its name demands.
func State(r *rand.Rand) regcase.State {
	switch r.IntN(5) {
	case 0:
		return regcase.State{Name: regcase.Quarantined, Owner: "ana", Reason: pick(r, []string{"flaky", "null", "a: b # c"}), Review: fmt.Sprintf("2026-12-%02d", 1+r.IntN(28))}
	case 1:
		return regcase.State{Name: regcase.Retired, Reason: pick(r, []string{"tool removed", "~", "12"})}
	case 2:
		return regcase.State{Name: regcase.Pending}
	}
	return regcase.State{Name: regcase.Enforced}
}

// Input returns one to three turns, recorded or simulated.
func Input(r *rand.Rand) regcase.Input {
	in := regcase.Input{Mode: "recorded", Turns: []regcase.Turn{}, Variables: map[string]string{}, Facts: []string{}}
	for range 1 + r.IntN(3) {
		in.Turns = append(in.Turns, regcase.Turn{User: pick(r, texts), Reply: maybe(r, pick(r, texts))})
	}
	for range r.IntN(3) {
		in.Variables[pick(r, []string{"user_id", "locale", "null"})] = pick(r, texts)
	}
	if r.IntN(3) == 0 {
		in.Clock = new(moment(r))
	}
	if r.IntN(4) == 0 {
		in.Mode, in.Goal, in.Facts = "simulated", pick(r, []string{"a refund", "- to know: where"}), append(in.Facts, pick(r, texts))
	}
	return in
}

// Fixtures returns up to four recorded or healthy answers of tools.
func Fixtures(r *rand.Rand) []regcase.Fixture {
	out := []regcase.Fixture{}
	for range r.IntN(5) {
		out = append(out, regcase.Fixture{Tool: pick(r, tools), Arguments: arguments(r), Result: regcase.NewJSON([]byte(pick(r, values))), From: pick(r, []string{"recording", "healthy"})})
	}
	return out
}

// Runs returns how often a case is run: hard always asks for all.
func Runs(r *rand.Rand) regcase.Runs {
	if r.IntN(4) == 0 {
		return regcase.Runs{N: 1 + r.IntN(5), Mode: "hard", Rate: 1}
	}
	return regcase.Runs{N: 5 + r.IntN(6), Mode: "soft", Rate: pick(r, []float64{0.6, 0.8, 0.9, 1})}
}

func title(r *rand.Rand) string {
	return pick(r, []string{"get_order called 6 times with the same arguments", "refund: /items/* is missing", "12", "a \"tool\": no # such"})
}

func provenance(r *rand.Rand) regcase.Provenance {
	first := moment(r)
	p := regcase.Provenance{Source: pick(r, []string{"rule", "judge", "human"}), Rule: "loop@3", Confidence: float64(r.IntN(101)) / 100, Count: 1 + r.IntN(9), FirstSeen: first,
		LastSeen: first.Add(time.Duration(r.IntN(1e6)) * time.Second), Traces: []string{}, Redactor: "1", Redactions: map[string]int{}, Kills: []string{}, Control: maybe(r, hex(r, 32))}
	for range 1 + r.IntN(3) {
		p.Traces = append(p.Traces, hex(r, 32))
	}
	for _, k := range []string{"email", "card", "phone"} {
		if r.IntN(2) == 0 {
			p.Redactions[k] = r.IntN(4)
		}
	}
	if r.IntN(2) == 0 {
		p.Kills = append(p.Kills, "drop-call", "other-argument")
	}
	return p
}

func context(r *rand.Rand) regcase.Context {
	return regcase.Context{Service: pick(r, []string{"shop", "desk"}), ServiceVersion: maybe(r, "1.4.2"), SystemPrompt: maybe(r, "sha256:"+digest(r)),
		Tools: maybe(r, "sha256:"+digest(r)), Model: maybe(r, "gpt-4.1-mini")}
}

func offered(r *rand.Rand) []regcase.Tool {
	out := []regcase.Tool{}
	for _, name := range tools {
		if r.IntN(3) == 0 {
			continue
		}
		t := regcase.Tool{Name: name, SchemaSHA256: maybe(r, digest(r)), Effect: pick(r, []string{"read", "write", "unknown"}), Idempotent: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			t.Schema = regcase.NewJSON([]byte(`{"type":"object","required":["order_id"],"properties":{"order_id":{"type":"string"}}}`))
			t.SchemaSHA256 = new(regcase.SHA256(t.Schema))
		}
		if r.IntN(3) == 0 {
			t.Execution = regcase.NewJSON([]byte(`{"llm":"never","external_api":"conditional","providers":["mailgun"]}`))
		}
		out = append(out, t)
	}
	return out
}

func live(r *rand.Rand) *regcase.Live {
	if r.IntN(2) == 0 {
		return nil
	}
	of := 1 + r.IntN(10)
	return &regcase.Live{Commit: hex(r, 40), Red: r.IntN(of + 1), Of: of}
}

func green(r *rand.Rand) *regcase.Green {
	if r.IntN(2) == 0 {
		return nil
	}
	of := 1 + r.IntN(10)
	return &regcase.Green{Commit: hex(r, 40), Passed: r.IntN(of + 1), Of: of}
}

func arguments(r *rand.Rand) regcase.JSON {
	return pick(r, []regcase.JSON{nil, regcase.NewJSON([]byte(`{}`)), regcase.NewJSON([]byte(`{"order_id":` + pick(r, values) + `}`)), regcase.NewJSON([]byte(`{"query":` + pick(r, values) + `,"limit":10}`))})
}

func moment(r *rand.Rand) time.Time {
	return time.Date(2026, 11, 1+r.IntN(30), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(3)*1000, time.UTC)
}

func hex(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

func digest(r *rand.Rand) string { return hex(r, 64) }

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func maybe(r *rand.Rand, s string) *string {
	if r.IntN(2) == 0 {
		return nil
	}
	return &s
}

package gate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const goldens = `apiVersion: pawl/v1
kind: Golden
cases:
  - name: lookup
    user: "Where is PX-12345678?"
    expect_tool: find_parcel
    expect_args: {tracking_number: PX-12345678}
    answers: [{tool: find_parcel, result: {status: unknown}}]
  - name: other-arguments
    user: "Where is PX-12345678?"
    expect_tool: find_parcel
    expect_args: {/tracking_number: {match: pattern, value: "QX-[0-9]+"}}
    answers: [{tool: find_parcel, result: {status: unknown}}]
  - name: wrong-tool
    user: "Where is PX-12345678?"
    expect_tool: list_parcels
    answers: [{tool: find_parcel, result: {status: unknown}}]
  - name: thanks
    user: "Thanks!"
    no_tool: true
  - name: order
    turns: ["Where is PX-12345678?", "And PX-22222222?"]
    expect_sequence: [find_parcel, find_parcel]
    answers: [{tool: find_parcel, result: {status: unknown}}]
`

// Cases written by hand are run as recorded ones are, and tell how well tools are chosen.
func TestGoldens(t *testing.T) {
	all, err := regcase.GoldenCases("desk.yaml", []byte(goldens))
	if err != nil {
		t.Fatal(err)
	}
	var cases []*gate.Case
	for _, g := range all {
		c, err := gate.GoldenCase(g)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	g := newGate(t, gate.Options{Timeout: 20 * time.Second, Jobs: 4})
	report, err := g.Check(t.Context(), gate.Plan{Cases: cases, N: 1, Head: gate.Version{Agent: agentCommand("good"), Model: "small"}, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]gate.Verdict{}
	for _, r := range report.Runs {
		if r.Side == gate.Head && !r.Again {
			verdicts[r.Case] = r.Verdict
		}
		if r.Model != "small" || r.Decided != gate.Deterministic {
			t.Errorf("%+v", r)
		}
	}
	for id, want := range map[string]gate.Verdict{"golden-lookup": gate.Pass, "golden-other-arguments": gate.Fail, "golden-wrong-tool": gate.Fail, "golden-thanks": gate.Fail, "golden-order": gate.Pass} {
		if verdicts[id] != want {
			t.Errorf("%s: %s, want %s", id, verdicts[id], want)
		}
	}
	s := report.Scores(cases)
	if s == nil || s.Selection != (gate.Share{Did: 2, Of: 3}) || s.Arguments != (gate.Share{Did: 1, Of: 2}) || s.OverTrigger != (gate.Share{Did: 1, Of: 1}) || s.Sequence != (gate.Share{Did: 1, Of: 1}) {
		t.Errorf("%+v", s)
	}
	if len(s.Confused) != 1 || s.Confused[0] != (gate.Confusion{Expected: "list_parcels", Got: "find_parcel", Count: 1}) {
		t.Errorf("%+v", s.Confused)
	}
	if report.Deciders()[gate.Deterministic] != len(report.Runs) {
		t.Errorf("%v", report.Deciders())
	}
	if says := strings.Join(s.Sentences(), "\n"); !strings.Contains(says, "the right tool: 67 % (2 of 3)") || !strings.Contains(says, "find_parcel in place of list_parcels: 1") {
		t.Error(says)
	}
}

package ratchet

import (
	"bytes"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/fixture"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/admit"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/test/sample"
)

// mayBeRefused are what fixtures of rules may lack for a case: each is a matter of what was recorded, none of what the case asserts.
var mayBeRefused = []string{
	"holds no user message", "healthy runs of the route are known", "no run could pass the case", "what failed was no tool's call", "took the fault as it should", "that is not decided",
}

// TestFixturesOfRules tries a case of every finding of every matching fixture of every rule: it is red, stays red in its twins, and every repair of the rule
// that applies makes it pass.
func TestFixturesOfRules(t *testing.T) {
	m := testMaker(t)
	fs, err := fixture.Load(os.DirFS("../classify/rule/testdata"))
	if err != nil {
		t.Fatal(err)
	}
	admitted := map[string]int{}
	for _, f := range fs {
		i := slices.IndexFunc(rule.All(), func(r classify.Rule) bool { return r.Name == f.Rule })
		if f.Kind != fixture.Match || i < 0 || rule.All()[i].Form == classify.FormNone {
			continue
		}
		for _, err := range tryFixture(t, m, f, rule.All()[i]) {
			if err == nil {
				admitted[f.Rule]++
			} else if !slices.ContainsFunc(mayBeRefused, func(s string) bool { return strings.Contains(err.Error(), s) }) {
				t.Errorf("%s %s: %v", f.Rule, path.Base(f.Path), err)
			}
		}
	}
	for _, r := range rule.All() {
		if r.Form != classify.FormNone && !outside(r.Label) && admitted[r.Name] == 0 && r.Name != "cost_spike" { // the baselines of its fixtures tell no total
			t.Errorf("no fixture of %s makes a case", r.Name)
		}
	}
}

func tryFixture(t *testing.T, m *Maker, f fixture.Fixture, r classify.Rule) (out []error) {
	t.Helper()
	run, err := f.Trajectory()
	if err != nil {
		t.Fatal(err)
	}
	report, err := f.Run(r)
	if err != nil {
		t.Fatal(err)
	}
	base, err := f.Baseline(run)
	if err != nil {
		t.Fatal(err)
	}
	if m.Catalog, err = f.Catalog(); err != nil {
		t.Fatal(err)
	}
	for _, x := range report.Findings {
		c, err := m.compose(recording{run: run, found: x}, nil, Sightings{}, base, nil)
		if err == nil {
			_, err = admit.Admit(m.Oracle.Judge, admit.Candidate{Case: &c, Finding: x, Recorded: run, Rule: r})
		}
		out = append(out, err)
	}
	return out
}

// healthyTraces are runs of the route of the failing samples, in one dialect.
func healthyTraces(d sample.Dialect, n uint64) (out []trajectory.Trace, base *baseline.Snapshot) {
	b := baseline.New()
	for seed := range n {
		tr, _ := sampled(d, sample.Named("healthy"), seed)
		b.Learn(baseline.Measure(trajectory.Build(tr)))
		out = append(out, tr)
	}
	return out, b.Snapshot()
}

// TestHealthyRunsGiveControlAndCalls: a case of a route whose healthy runs are known asks for what they all call, has their answers, redacted like the
// recording, and names the one that passes.
func TestHealthyRunsGiveControlAndCalls(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		healthy, base := healthyTraces(d, 4)
		tr, _ := sampled(d, sample.Named("loop"), 99)
		f := findingOf(t, m, tr, nil, "loop")
		made, err := m.Make([]trajectory.Trace{tr}, f, Sightings{Healthy: base, Controls: healthy}, nil)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		c := made.Case
		if c.Weak || !slices.Equal(c.Expect.Liveness.Calls, []string{"find_parcel"}) || c.Expect.Liveness.Healthy != 4 {
			t.Errorf("%s: weak %v, %+v", d.Name, c.Weak, c.Expect.Liveness)
		}
		if c.Provenance.Control == nil || *c.Provenance.Control != healthy[0].ID {
			t.Errorf("%s: control %v", d.Name, c.Provenance.Control)
		}
		for _, k := range []string{"twin/other-ids", "damage/drop-call/find_parcel", "damage/no-reply", "damage/end-in-error", "damage/repeat-call"} {
			if !slices.Contains(c.Provenance.Kills, k) {
				t.Errorf("%s: %s is not among %v", d.Name, k, c.Provenance.Kills)
			}
		}
		n := 0
		for _, x := range c.Fixtures {
			if x.From == "healthy" {
				n++
			}
		}
		if n == 0 || n > maxOfTool*2 {
			t.Errorf("%s: %d healthy answers", d.Name, n)
		}
		if bytes.Contains(made.YAML, []byte("customers.example")) {
			t.Errorf("%s: a healthy run's customer is in the case", d.Name)
		}
		again, err := m.Make([]trajectory.Trace{tr}, f, Sightings{Healthy: base, Controls: healthy}, nil)
		if err != nil || !bytes.Equal(again.YAML, made.YAML) || !bytes.Equal(again.Trace, made.Trace) {
			t.Errorf("%s: made again it is another case: %v", d.Name, err)
		}
	}
}

// TestTwoHealthyRunsAreTooFew to say what all runs call.
func TestTwoHealthyRunsAreTooFew(t *testing.T) {
	m := testMaker(t)
	healthy, base := healthyTraces(sample.Dialects[0], 2)
	tr, _ := sampled(sample.Dialects[0], sample.Named("loop"), 99)
	made, err := m.Make([]trajectory.Trace{tr}, findingOf(t, m, tr, nil, "loop"), Sightings{Healthy: base, Controls: healthy}, nil)
	if err != nil || !made.Case.Weak || len(made.Case.Expect.Liveness.Calls) > 0 {
		t.Errorf("%+v, %v", made.Case.Expect.Liveness, err)
	}
}

// TestTrimmedRecordings: whatever the dialect and the failure, the recording beside the case is no greater than it was, fails the case whether judged trace
// by trace or joined, and shows the same failure to all rules.
func TestTrimmedRecordings(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		healthy, base := healthyTraces(d, 30)
		for _, s := range sample.Scenarios {
			if s.Label == "" {
				continue
			}
			tr, _ := sampled(d, s, 7)
			f := findingOf(t, m, tr, base, s.Label)
			made, err := m.Make([]trajectory.Trace{tr}, f, Sightings{Controls: healthy[:2]}, base)
			if err != nil {
				t.Fatalf("%s %s: %v", d.Name, s.Name, err)
			}
			if len(made.Trace) > made.Whole || len(made.Healed) == 0 {
				t.Errorf("%s %s: %d bytes of %d, healed by %v", d.Name, s.Name, len(made.Trace), made.Whole, made.Healed)
			}
			red, err := Reread(made.Trace)
			if err != nil {
				t.Fatal(err)
			}
			if j := m.Oracle.Judge(&made.Case, red); j.Verdict != oracle.Fail {
				t.Errorf("%s %s: the trimmed recording is %s: %s", d.Name, s.Name, j.Verdict, j.Reason)
			}
			if c := made.Case.Provenance.Control; c == nil {
				t.Errorf("%s %s: no healthy run passes", d.Name, s.Name)
			}
		}
	}
}

// TestTrimmedSessions: the same of a failure that only the session shows, judged by its traces one by one.
func TestTrimmedSessions(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		traces, found := steps(t, m, d)
		made, err := m.Make(traces, found[0], Sightings{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		td, ld, err := record.Decode(made.Trace)
		if err != nil {
			t.Fatal(err)
		}
		var parts []*trajectory.Trajectory
		for _, tr := range trajectory.FromOTLP([]ptrace.Traces{td}, []plog.Logs{ld}) {
			parts = append(parts, trajectory.Build(tr))
		}
		if j := m.Oracle.Judge(&made.Case, parts...); j.Verdict != oracle.Fail || len(parts) < 2 {
			t.Errorf("%s: %d traces are %s: %s", d.Name, len(parts), j.Verdict, j.Reason)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/classify"
)

const dataDir = "../../../shared/data"

// real is the measurement of all real data, made once.
var real = sync.OnceValues(func() (measurement, error) { return judgeDirs([]string{dataDir}, "") })

func measure(t *testing.T) measurement {
	for _, dir := range []string{"labelled", "captures"} {
		if _, err := os.Stat(filepath.Join(dataDir, dir)); err != nil {
			t.Skipf("no real telemetry at %s", filepath.Join(dataDir, dir))
		}
	}
	if raced {
		t.Skip("a measurement, not a matter of threads")
	}
	m, err := real()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// enough is how many failures must be known firmly before a floor binds; with fewer, a person's reading of findings does.
const (
	enough      = 30
	enoughRead  = 20
	floorOfRead = 0.8
)

// floorOf is the least precision of a rule.
func floorOf(l classify.Label) float64 {
	switch l {
	case classify.SchemaViolation, classify.HallucinatedTool, classify.ContextOverflow, classify.MissingToolResult:
		return 0.95
	case classify.Loop, classify.HallucinatedData:
		return 0.9
	}
	return 0.8
}

// TestPrecision holds the floors: every rule is as often right as its label demands, and the four that can see all of it find nearly all.
func TestPrecision(t *testing.T) {
	m := measure(t)
	read, err := readReadings()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.Rules {
		c, floor := m.firm(r), floorOf(r.Label)
		if p, _, _ := c.precision(); c.Positive >= enough && c.judged() > 0 && p < floor {
			t.Errorf("%s: precision %.3f is below %.2f (%d right, %d wrong)", r.ID(), p, floor, c.Right, c.Wrong)
		}
		if p, _, _ := c.recall(); floor == 0.95 && c.Positive >= enough && p < 0.9 {
			t.Errorf("%s: recall %.3f is below 0.9 (%d of %d)", r.ID(), p, c.Right, c.Positive-c.BlindPos)
		}
		if c, _ := m.sum(r, derived); floor == 0.95 && c.Positive >= enough {
			if p, _, _ := c.recall(); p < 0.9 {
				t.Errorf("%s: recall of what was derived is %.3f (%d of %d)", r.ID(), p, c.Right, c.Positive-c.BlindPos)
			}
		}
		if holds, n := read.tally(r.Label); n >= enoughRead && float64(holds) < floorOfRead*float64(n) {
			t.Errorf("%s: %d of %d findings hold when read", r.ID(), holds, n)
		}
	}
}

// TestHealthyRunsAreLeftAlone holds the ceiling on false alarms that would open a pull request.
func TestHealthyRunsAreLeftAlone(t *testing.T) {
	for _, w := range measure(t).wells() {
		if w.Rule == "" && w.Blocking*1000 > 5*w.Runs {
			t.Errorf("%s: %d of %d healthy runs have a blocking finding", w.Set, w.Blocking, w.Runs)
		}
	}
}

// Two measurements print the same bytes, as a table and as JSON.
func TestDeterministic(t *testing.T) {
	measure(t)
	twice := [2]measurement{}
	for i := range twice {
		var err error
		if twice[i], err = judgeDirs([]string{filepath.Join(dataDir, "labelled", "tau_bench"), filepath.Join(dataDir, "labelled", "toolbench")}, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, asJSON := range []bool{false, true} {
		var a, b bytes.Buffer
		listing(&a, twice[0], true)
		listing(&b, twice[1], true)
		show(&a, twice[0], asJSON, true)
		show(&b, twice[1], asJSON, true)
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("two measurements differ (JSON %v)", asJSON)
		}
	}
}

func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n         int
		p, low, high float64
	}{
		{0, 10, 0, 0, 0.2775}, {10, 10, 1, 0.7225, 1}, {5, 10, 0.5, 0.2366, 0.7634}, {95, 100, 0.95, 0.8882, 0.9785},
	} {
		p, low, high := wilson(c.k, c.n)
		if math.Abs(p-c.p)+math.Abs(low-c.low)+math.Abs(high-c.high) > 3e-4 {
			t.Errorf("%d of %d: %.4f (%.4f-%.4f)", c.k, c.n, p, low, high)
		}
	}
	if p, low, high := wilson(0, 0); !math.IsNaN(p) || low != 0 || high != 1 {
		t.Errorf("0 of 0: %v (%v-%v)", p, low, high)
	}
}

// said makes a run with one finding of a label, at a span.
func said(l classify.Label, rule, span string, truth claim) judged {
	return judged{
		run{Set: "s", ID: "r" + span, Truth: map[classify.Label]claim{l: truth}},
		[]classify.Report{{Findings: []classify.Finding{{Label: l, Rule: rule, Severity: classify.Blocking, Evidence: []classify.Evidence{{SpanID: span}}}}}},
	}
}

func TestCounting(t *testing.T) {
	r := classify.Rule{Name: "loop", Version: 1, Label: classify.Loop}
	quiet := func(c claim, blind bool) judged {
		j := said(r.Label, r.ID(), "", c)
		j.Reports[0].Findings = nil
		if blind {
			j.Reports[0].Inapplicable = []classify.Inapplicable{{Rule: r.ID(), Missing: "tool_calls"}}
		}
		return j
	}
	yes, no := new(true), new(false)
	s := sample{Name: "s", Runs: []judged{
		said(r.Label, r.ID(), "a", claim{yes, []string{"a", "b"}, byPeople}),
		said(r.Label, r.ID(), "c", claim{yes, []string{"b"}, byPeople}),
		said(r.Label, r.ID(), "d", claim{no, nil, byPeople}),
		said(r.Label, r.ID(), "e", claim{nil, nil, byPeople}),
		said(r.Label, r.ID(), "f", claim{no, nil, derived}),
		said(r.Label, r.ID(), "g", claim{yes, nil, derived}),
		quiet(claim{yes, nil, byPeople}, false), quiet(claim{yes, nil, byPeople}, true), quiet(claim{no, nil, byPeople}, true),
	}}
	if got, want := s.cell(r, byPeople), (cell{Rule: "loop@1", Set: "s", Strength: byPeople, Runs: 6, Positive: 4, Right: 2, Wrong: 1, Blind: 2, BlindPos: 1, Placed: 2, InPlace: 1}); got != want {
		t.Errorf("by people\n%+v, want\n%+v", got, want)
	}
	if got := s.cell(r, unknown); got.Unknown != 1 || got.Runs != 0 {
		t.Errorf("what nobody knows: %+v", got)
	}
	m := measurement{[]classify.Rule{r}, []sample{s}}
	if got := m.firm(r); got.Right != 2 || got.Wrong != 2 || got.Positive != 4 {
		t.Errorf("derived truth counts against a rule and not for it: %+v", got)
	}
	for _, c := range []struct {
		read          readings
		judged, right int
	}{
		{nil, 4, 2}, {readings{{r.Label, "s", "rg", true, "w"}}, 5, 3}, {readings{{r.Label, "s", "rf", true, "w"}, {r.Label, "s", "re", false, "w"}}, 5, 3},
	} {
		if got, _ := precisionOf(m, r, c.read); got.Judged != c.judged || got.Right != c.right || got.Set != "s" {
			t.Errorf("read %v: %+v, want %d of %d", c.read, got, c.right, c.judged)
		}
	}
}

// Every damage can be done to some healthy run, and none changes the run that it was made of.
func TestDamages(t *testing.T) {
	m := measure(t)
	could := map[string]bool{}
	for _, s := range m.Samples {
		for _, h := range s.Healthy[:min(len(s.Healthy), 40)] {
			before, _ := json.Marshal(h)
			for _, d := range damages() {
				could[d.Name] = could[d.Name] || d.Apply(h.Clone(), rand.New(rand.NewPCG(1, 2)))
			}
			if after, _ := json.Marshal(h); !bytes.Equal(before, after) {
				t.Fatalf("%s: a damage changes the run that it is made of", h.TraceID)
			}
		}
	}
	for _, d := range damages() {
		if !could[d.Name] {
			t.Errorf("no healthy run can be damaged so: %s", d.Name)
		}
	}
}

// What is for information alone is no finding.
func TestInfoIsNoFinding(t *testing.T) {
	r := classify.Rule{Name: "loop", Version: 1, Label: classify.Loop}
	j := said(r.Label, r.ID(), "a", claim{})
	j.Reports[0].Findings[0].Severity = classify.Info
	if len(j.said(r)) != 0 {
		t.Error("an info finding counts")
	}
}

func TestTruthOfCaptures(t *testing.T) {
	r := row{"sdk": "x", "version": "1", "scenario": "S10", "our_labels": "silent_timeout"}
	got := truthOf(r, "captures")
	if p := got.Truth[classify.SilentTimeout].Present; got.Clean || p == nil || !*p {
		t.Errorf("the scripted failure is not there: %+v", got)
	}
	if p := got.Truth[classify.Loop].Present; p == nil || *p {
		t.Error("a failure that is not in the script is not known to be absent")
	}
	if got.Truth[classify.MissingToolResult].Present != nil {
		t.Error("what goes with the scripted failure is taken for absent")
	}
	r["claim_visible"] = "NOT-VISIBLE"
	if truthOf(r, "captures").Truth[classify.SilentTimeout].Present != nil {
		t.Error("what is not in the telemetry is asked for")
	}
	r["our_labels"] = ""
	if got := truthOf(r, "captures"); !got.Clean {
		t.Error("a scenario without a failure is not healthy")
	}
}

// Every reading is of a label that pawl has and of a run that exists, and the file of measurements can be read back.
func TestReadings(t *testing.T) {
	read, err := readReadings()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range read {
		key := string(x.Label) + " " + x.Set + " " + x.Run
		if seen[key] {
			t.Errorf("%s is read twice", key)
		}
		seen[key] = true
	}
}

func TestWritePrecision(t *testing.T) {
	r := classify.Rule{Name: "loop", Version: 2, Label: classify.Loop}
	m := measurement{[]classify.Rule{r}, []sample{{Name: "s", Runs: []judged{said(r.Label, r.ID(), "a", claim{new(true), nil, byExecution})}}}}
	path := filepath.Join(t.TempDir(), "precision.json")
	if err := writePrecision(path, "2026-11-30", m); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]measured
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if want := (measured{1, 1, 0.207, 1, "s", "2026-11-30"}); got["loop@2"] != want {
		t.Errorf("%s", b)
	}
}

func TestUnknownRuleAndFolder(t *testing.T) {
	if _, err := judgeDirs([]string{t.TempDir()}, ""); err == nil || !strings.Contains(err.Error(), "no set") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := judgeDirs([]string{t.TempDir()}, "lop"); err == nil || !strings.Contains(err.Error(), "lop") {
		t.Errorf("an unknown rule: %v", err)
	}
}

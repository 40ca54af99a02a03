package rule

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const captures = "../../../shared/data/captures"

// capture is one row of the captures' manifest.
type capture struct {
	dir, sdk, scenario string
	labels             []string // the truth
	visible            bool     // the tell-tale is in the telemetry
}

func manifest(t testing.TB) []capture {
	b, err := os.ReadFile(filepath.Join(captures, "MANIFEST.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no captures beside the repository: ../shared/data/captures")
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	head := strings.Split(strings.TrimSpace(lines[0]), "\t")
	col := func(row []string, name string) string {
		if i := slices.Index(head, name); i >= 0 && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	var out []capture
	for _, line := range lines[1:] {
		row := strings.Split(line, "\t")
		c := capture{sdk: col(row, "sdk") + "-" + col(row, "version"), scenario: col(row, "scenario"), visible: col(row, "claim_visible") != "NOT-VISIBLE"}
		c.dir = filepath.Join(captures, c.sdk)
		if l := col(row, "our_labels"); l != "" && !strings.Contains(col(row, "odd"), "does not hold") {
			c.labels = strings.Split(l, ",")
		}
		out = append(out, c)
	}
	return out
}

// eachLine calls f with every line of a gzipped file; a file that is not there has none.
func eachLine(t testing.TB, path string, f func([]byte)) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	r := bufio.NewReaderSize(z, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			f(line)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func (c capture) trajectories(t testing.TB) (out []*trajectory.Trajectory) {
	for _, tr := range c.traces(t) {
		out = append(out, trajectory.Build(tr))
	}
	return out
}

func (c capture) traces(t testing.TB) []trajectory.Trace {
	return trajectory.FromOTLP(c.spans(t), c.records(t))
}

func (c capture) spans(t testing.TB) (traces []ptrace.Traces) {
	eachLine(t, filepath.Join(c.dir, c.scenario+".otlp.jsonl.gz"), func(b []byte) {
		var u ptrace.JSONUnmarshaler
		if td, err := u.UnmarshalTraces(b); err != nil {
			t.Errorf("%s %s: %v", c.sdk, c.scenario, err)
		} else {
			traces = append(traces, td)
		}
	})
	return traces
}

func (c capture) records(t testing.TB) (logs []plog.Logs) {
	eachLine(t, filepath.Join(c.dir, c.scenario+".logs.otlp.jsonl.gz"), func(b []byte) {
		var u plog.JSONUnmarshaler
		if ld, err := u.UnmarshalLogs(b); err != nil {
			t.Errorf("%s %s: %v", c.sdk, c.scenario, err)
		} else {
			logs = append(logs, ld)
		}
	})
	return logs
}

func engine(t testing.TB) *classify.Engine { return engineOf(t, All()) }

func engineOf(t testing.TB, rules []classify.Rule) *classify.Engine { return engineWith(t, rules, nil) }

func engineWith(t testing.TB, rules []classify.Rule, policy []classify.Policy) *classify.Engine {
	e, err := classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shopPolicy is the policy that the captured agent's team has, in the words of the captures' README.
var shopPolicy = []classify.Policy{{
	Agent:       "*",
	MustPrecede: []classify.MustPrecede{{Tool: "upsert_product", Before: "validate_product", Same: "product_id"}},
	NoToolWhen:  []classify.NoToolWhen{{User: regexp.MustCompile(`(?i)^(thanks|thank you)`)}},
	Route:       []classify.Routing{{User: regexp.MustCompile(`(?i)parcel|track`), Deny: []string{"billing"}}},
}}

// healthy learns from the scenarios in which all went well, often enough that the rule on cost may judge.
func healthy(t *testing.T, rows []capture, sdk string) *baseline.Snapshot {
	b := baseline.New()
	for _, c := range rows {
		if c.sdk != sdk || !slices.Contains([]string{"S01", "S01s", "S05", "S13n", "S15", "S19n"}, c.scenario) {
			continue
		}
		for _, tr := range c.trajectories(t) {
			for range 4 {
				b.Learn(baseline.Measure(tr))
			}
		}
	}
	return b.Snapshot()
}

// tally counts, for one label: right, wrong and missed captures, and those where the rule said that it could not see.
type tally struct{ right, wrong, missed, blind int }

// TestCaptures runs the rules over what real SDKs sent and compares with what really happened. With -v it prints every difference.
func TestCaptures(t *testing.T) {
	rows := manifest(t)
	e := engineWith(t, All(), shopPolicy)
	baselines := map[string]*baseline.Snapshot{}
	per := map[classify.Label]*tally{}
	for _, r := range All() {
		per[r.Label] = &tally{}
	}
	for _, c := range rows {
		if baselines[c.sdk] == nil {
			baselines[c.sdk] = healthy(t, rows, c.sdk)
		}
		var reports []classify.Report
		for _, tr := range c.trajectories(t) {
			reports = append(reports, e.Classify(tr, baselines[c.sdk]))
		}
		for _, r := range All() {
			compare(t, c, r, reports, per[r.Label])
		}
	}
	for _, r := range All() {
		c := per[r.Label]
		t.Logf("%-28s right %3d  false alarms %3d  missed %3d  could not see %3d", r.Label, c.right, c.wrong, c.missed, c.blind)
		if c.wrong > 0 || c.missed > 0 {
			t.Errorf("%s: %d false alarms and %d misses on captures", r.Label, c.wrong, c.missed)
		}
	}
}

// compare counts what one rule said of one capture.
func compare(t *testing.T, c capture, r classify.Rule, reports []classify.Report, n *tally) {
	want := slices.Contains(c.labels, string(r.Label))
	said, blind := saidOf(r, reports)
	switch got := len(said) > 0; {
	case want && got:
		n.right++
	case want && (blind != "" || !c.visible):
		n.blind++
		t.Logf("blind  %s %s %s: %s", c.sdk, c.scenario, r.Label, cmp.Or(blind, "not in the telemetry"))
	case want:
		n.missed++
		t.Logf("missed %s %s %s", c.sdk, c.scenario, r.Label)
	case got && r.Label == classify.ContextOverflow && c.scenario == "S12":
		t.Logf("beside %s %s %s: %s", c.sdk, c.scenario, r.Label, said) // a spike that nearly fills the window: true as well
	case got && strings.HasPrefix(c.sdk, "langsmith"):
		t.Logf("unread %s %s %s: its inputs, which hold the answers, are in no dialect that is read yet", c.sdk, c.scenario, r.Label)
	case got:
		n.wrong++
		t.Logf("wrong  %s %s %s: %s", c.sdk, c.scenario, r.Label, said)
	}
}

func saidOf(r classify.Rule, reports []classify.Report) (said []string, blind string) {
	for _, rep := range reports {
		for _, f := range rep.Findings {
			if f.Label == r.Label {
				said = append(said, fmt.Sprintf("%s %.2f %s", f.Severity, f.Confidence, f.Why))
			}
		}
		for _, i := range rep.Inapplicable {
			if i.Rule == r.ID() {
				blind = string(i.Missing)
			}
		}
	}
	return said, blind
}

package propose

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/redact"
)

const labelledDir = "../../../shared/data/labelled"

// maxMeasured bounds the runs of one set, evenly taken.
const maxMeasured = 500

func readSet(t *testing.T, file string) []*trajectory.Trajectory {
	t.Helper()
	var traces []ptrace.Traces
	var logs []plog.Logs
	for item, err := range importer.Walk(importer.Options{}, file) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Data.Signal == wire.Traces {
			traces = append(traces, item.Data.Traces)
		} else {
			logs = append(logs, item.Data.AllLogs()...)
		}
	}
	all := trajectory.FromOTLP(traces, logs)
	slices.SortFunc(all, func(a, b trajectory.Trace) int { return strings.Compare(a.ID, b.ID) })
	var out []*trajectory.Trajectory
	for i, tr := range all {
		if i%max(1, (len(all)+maxMeasured-1)/maxMeasured) == 0 {
			out = append(out, trajectory.Build(tr))
		}
	}
	return out
}

// redactText is a fresh session for each text, as the service redacts what it looks at.
func redactText(t testing.TB) func(key, text string) string {
	t.Helper()
	r, err := redact.New(slog.New(slog.DiscardHandler), redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Session()
	return s.Field
}

// TestHiddenRules takes away one of pawl's rules, has three of the runs that it finds labelled, and measures the rule that is proposed on all others: those that
// pass without it are what is healthy.
func TestHiddenRules(t *testing.T) {
	sets, err := filepath.Glob(filepath.Join(labelledDir, "*", "traces.jsonl.gz"))
	if err != nil || len(sets) == 0 {
		t.Skipf("no real telemetry at %s", labelledDir)
	}
	if testing.Short() || os.Getenv("PAWL_MEASURE") == "" {
		t.Skip("a measurement of minutes: PAWL_MEASURE=1 takes it")
	}
	engine, err := classify.New(slog.New(slog.DiscardHandler), rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("| set | label | runs | n | precision | recall | rule |\n|---|---|---|---|---|---|---|\n")
	for _, file := range sets {
		runs := readSet(t, file)
		by := map[classify.Label][]int{}
		reports := make([]classify.Report, len(runs))
		for i, run := range runs {
			reports[i] = engine.Classify(run, nil)
			for _, f := range reports[i].Findings {
				if list := by[f.Label]; f.Severity != classify.Info && (len(list) == 0 || list[len(list)-1] != i) {
					by[f.Label] = append(list, i)
				}
			}
		}
		for _, label := range classify.Labels() {
			if len(by[label]) >= 6 {
				measureHidden(t, filepath.Base(filepath.Dir(file)), label, runs, reports, by[label])
			}
		}
	}
}

func measureHidden(t *testing.T, set string, label classify.Label, runs []*trajectory.Trajectory, reports []classify.Report, found []int) {
	var labelled, healthy, failed []*trajectory.Trajectory
	chosen := []int{found[0], found[len(found)/2], found[len(found)-1]}
	for i, run := range runs {
		others := slices.ContainsFunc(reports[i].Findings, func(f classify.Finding) bool { return f.Label != label && f.Severity != classify.Info })
		switch {
		case slices.Contains(chosen, i):
			labelled = append(labelled, run)
		case !others && reports[i].Verdict != classify.Unclassified && reports[i].Verdict != classify.Incomplete:
			healthy = append(healthy, run)
		case others && !slices.Contains(found, i):
			failed = append(failed, run)
		}
	}
	cs, err := Propose(labelled, healthy, Options{Name: "hidden", Redact: redactText(t), Others: failed})
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) == 0 {
		fmt.Printf("| %s | %s | %d | %d | - | - | none |\n", set, label, len(runs), len(found))
	}
	for n, c := range cs {
		r, err := ruleOf(c.Rule)
		if err != nil {
			t.Fatal(err)
		}
		e, err := classify.New(slog.New(slog.DiscardHandler), []classify.Rule{r}, classify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		right, wrong, positive := 0, 0, 0
		for i, run := range runs {
			if slices.Contains(chosen, i) {
				continue
			}
			is := slices.Contains(found, i)
			if is {
				positive++
			}
			if len(e.Classify(run.Clone(), nil).Findings) > 0 {
				if is {
					right++
				} else {
					wrong++
				}
			}
		}
		fmt.Printf("| %s | %s %d | %d | %d | %s | %s | %s (%d files) |\n", set, label, n+1, len(runs), len(found), share(right, right+wrong), share(right, positive), c.Says, len(c.Testdata))
	}
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(n)/float64(of))
}

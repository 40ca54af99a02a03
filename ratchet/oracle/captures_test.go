package oracle

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/regcase"
)

const data = "../../../shared/data"

// lines are those of a gzipped file, at most so many; a file that is not there has none.
func lines(t *testing.T, path string, most int) (out [][]byte) {
	t.Helper()
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReaderSize(z, 1<<20); len(out) < most; {
		line, err := r.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			out = append(out, line)
		}
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func built(t *testing.T, spans, records [][]byte) (out []*trajectory.Trajectory) {
	t.Helper()
	var traces []ptrace.Traces
	var logs []plog.Logs
	for _, b := range spans {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(b)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, td)
	}
	for _, b := range records {
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(b)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, ld)
	}
	for _, tr := range trajectory.FromOTLP(traces, logs) {
		out = append(out, trajectory.Build(tr))
	}
	return out
}

// TestRecorded makes a case of every finding on recorded traces that an agent's rule gives, and judges the trace by it: a never must be red, and a
// rule that found nothing must not be.
func TestRecorded(t *testing.T) {
	captures, err := filepath.Glob(data + "/captures/*/*.otlp.jsonl.gz")
	if err != nil || len(captures) == 0 {
		t.Skip("no recorded traces beside the repository: " + data)
	}
	labelled, err := filepath.Glob(data + "/labelled/*/traces.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	var all []*trajectory.Trajectory
	for i, path := range captures {
		if i%9 != 0 {
			continue // all of them take long under -race, and are much alike
		}
		if base := strings.TrimSuffix(path, ".otlp.jsonl.gz"); !strings.HasSuffix(base, ".logs") {
			all = append(all, built(t, lines(t, path, 1000), lines(t, base+".logs.otlp.jsonl.gz", 1000))...)
		}
	}
	for _, path := range labelled {
		all = append(all, built(t, lines(t, path, 10), nil)...)
	}
	o := testOracle(t)
	engine, err := classify.New(o.lg, rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]map[Verdict]int{}
	for _, tr := range all {
		report := engine.Classify(tr, nil)
		for _, f := range report.Findings {
			if f.Form != classify.FormNever && f.Form != classify.FormFault || f.Severity == classify.Info {
				continue
			}
			j := o.Judge(caseOf(t, f), tr)
			excused := f.Form == classify.FormFault && tellsOfOutside(f.Label)
			if j.Verdict != Fail && !excused {
				t.Errorf("%s: %s: %s %s", tr.TraceID, f.Why, j.Verdict, j.Reason)
			}
			key := string(f.Form) + " " + string(f.Label)
			if count[key] == nil {
				count[key] = map[Verdict]int{}
			}
			count[key][j.Verdict]++
		}
		quiet(t, o, report, tr)
	}
	for _, k := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%-40s %v", k, count[k])
	}
}

// quiet judges a trace by the rules that found nothing on it. Where the model failed for good the run is an error, whatever the case.
func quiet(t *testing.T, o *Oracle, report classify.Report, tr *trajectory.Trajectory) {
	t.Helper()
	for _, r := range rule.All() {
		if r.Form != classify.FormNever || slices.ContainsFunc(report.Findings, func(f classify.Finding) bool { return f.Rule == r.ID() && f.Severity != classify.Info }) {
			continue
		}
		c := &regcase.Case{Form: "never", Expect: regcase.Expect{Never: []regcase.Never{{Label: string(r.Label), Rule: r.ID()}}}}
		outage := slices.ContainsFunc(tr.ModelCalls, func(m trajectory.ModelCall) bool { return m.Error != nil })
		if j := o.Judge(c, tr); j.Verdict == Fail || j.Verdict == Error && !(outage && strings.Contains(j.Reason, "says nothing of the agent")) {
			t.Errorf("%s: %s found nothing, and its case is %s: %s", tr.TraceID, r.ID(), j.Verdict, j.Reason)
		}
	}
}

package importer

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// data is where real telemetry lies, beside the repository.
func data(t *testing.T, sub string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", sub)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded telemetry at %s", dir)
	}
	return dir
}

// total reads a path and counts spans and log records, those without a trace included; a problem fails the test.
func total(t *testing.T, path string) (spans, logs int) {
	t.Helper()
	for item, err := range Walk(Options{}, path) {
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		r := item.Report
		if r.Rejected.Count > 0 || len(r.Warnings) > 0 {
			t.Errorf("%s:%d: %+v", item.File, item.Line, r)
		}
		if item.Data.Signal == wire.Logs {
			logs += item.Data.Logs.LogRecordCount() + r.Untraced
		} else {
			spans += item.Data.Traces.SpanCount()
		}
	}
	return spans, logs
}

func TestCapturesMatchTheirManifest(t *testing.T) {
	dir := data(t, "captures")
	in, err := os.Open(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	table := csv.NewReader(in)
	table.Comma, table.LazyQuotes, table.FieldsPerRecord = '\t', true, -1
	rows, err := table.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	seen := 0
	for _, row := range rows[1:] {
		cell := func(name string) string { return row[column[name]] }
		base := filepath.Join(dir, cell("sdk")+"-"+cell("version"), cell("scenario"))
		spans, _ := totalIf(t, base+".otlp.jsonl.gz")
		_, logs := totalIf(t, base+".logs.otlp.jsonl.gz")
		wantSpans, _ := strconv.Atoi(cell("spans"))
		wantLogs, _ := strconv.Atoi(cell("log_records"))
		if spans != wantSpans || logs != wantLogs {
			t.Errorf("%s: %d spans and %d log records, the manifest has %d and %d", base, spans, logs, wantSpans, wantLogs)
		}
		bodies(t, base, spans, logs)
		seen++
	}
	t.Logf("%d captures", seen)
}

func totalIf(t *testing.T, path string) (spans, logs int) {
	if _, err := os.Stat(path); err != nil {
		return 0, 0
	}
	return total(t, path)
}

// bodies checks that the raw request bodies of a capture, where kept, hold what its JSON lines hold.
func bodies(t *testing.T, base string, spans, logs int) {
	paths, err := filepath.Glob(base + ".0*.pb.gz")
	if err != nil || len(paths) == 0 {
		return
	}
	gotSpans, gotLogs := 0, 0
	for _, path := range paths {
		s, l := total(t, path)
		gotSpans, gotLogs = gotSpans+s, gotLogs+l
	}
	if gotSpans != spans || gotLogs != logs {
		t.Errorf("%s: request bodies hold %d spans and %d log records, the lines %d and %d", base, gotSpans, gotLogs, spans, logs)
	}
}

// TestLabelledRuns reads the beginning of each large file; all of them are 230 MB.
func TestLabelledRuns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(data(t, "labelled"), "*", "traces.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		spans, lines := 0, 0
		for item, err := range Walk(Options{}, path) {
			if err != nil || item.Report.Rejected.Count > 0 || len(item.Report.Warnings) > 0 {
				t.Fatalf("%v %+v", err, item.Report)
			}
			spans += item.Report.Spans
			if lines++; lines == 10 {
				break
			}
		}
		if spans == 0 {
			t.Errorf("%s: no spans", path)
		}
	}
}

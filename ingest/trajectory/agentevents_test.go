package trajectory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// eventFixture reads records of coding agents. One that names no span has no trace id either.
func eventFixture(t testing.TB, data []byte) ([]ptrace.Traces, plog.Logs) {
	tds, ld := fixture(t, data)
	for _, rl := range ld.ResourceLogs().All() {
		rl.Resource().Attributes().PutStr("service.name", "agent")
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				if r.SpanID().IsEmpty() {
					r.SetTraceID(pcommon.NewTraceIDEmpty())
				}
			}
		}
	}
	return tds, ld
}

// Every trap of coding agents' records is one archive: the records, and the trajectories that they make.
func TestAgentEvents(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.events")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tds, ld := eventFixture(t, ar.Files[0].Data)
			got := jsonOfTraces(t, FromOTLP(tds, []plog.Logs{ld}))
			if *update {
				ar.Files = append(ar.Files[:1], txtar.File{Name: "trajectory.json", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(ar.Files) < 2 || got != string(ar.Files[1].Data) {
				t.Errorf("got\n%s\n(go test -run TestAgentEvents -update rewrites)", got)
			}
		})
	}
}

// Records that come one a request, and again, as spans or as records, make the same trajectories as all at once.
func TestAgentEventsOneByOne(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.events")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tds, ld := eventFixture(t, ar.Files[0].Data)
		want := jsonOfTraces(t, FromOTLP(tds, []plog.Logs{ld}))
		var in Intake
		for _, td := range tds {
			in.Add(td)
		}
		for range 2 {
			for _, rl := range ld.ResourceLogs().All() {
				for _, r := range rl.ScopeLogs().At(0).LogRecords().All() {
					one := plog.NewLogs()
					to := one.ResourceLogs().AppendEmpty()
					rl.Resource().CopyTo(to.Resource())
					r.CopyTo(to.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
					in.Add(AgentEvents(one))
				}
			}
		}
		in.AddLogs(ld)
		if got := jsonOfTraces(t, in.Traces()); got != want {
			t.Errorf("%s: one by one\n%s\nwant\n%s", file, got, want)
		}
	}
}

// Whatever a record holds, it is read without harm.
func FuzzAgentEvents(f *testing.F) {
	f.Add("codex.tool_result", "conversation.id", "c", "duration_ms", "12")
	f.Add("tool_result", "session.id", "s", "event.timestamp", "2026-03-01T12:00:00Z")
	f.Fuzz(func(t *testing.T, name, k1, v1, k2, v2 string) {
		ld := plog.NewLogs()
		r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
		r.SetEventName(name)
		r.Body().SetStr("claude_code." + name)
		r.Attributes().PutStr(k1, v1)
		r.Attributes().PutStr(k2, v2)
		for _, tr := range FromOTLP([]ptrace.Traces{AgentEvents(ld)}, nil) {
			Build(tr)
		}
	})
}

package home_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/home"
	"github.com/pawl-dev/pawl/test/fakehomes"
)

// TestPublicExports serves exports of real traces, as the API answers them, and reads them back.
func TestPublicExports(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "public")
	files, err := filepath.Glob(filepath.Join(dir, "langfuse-export", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("no public exports at %s", dir)
	}
	for _, file := range append(files, filepath.Join(dir, "adk-jaeger", "k8s.jaeger.json")) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kind, name, id := home.Jaeger, "old.json", fakehomes.Trace
			if filepath.Base(filepath.Dir(file)) == "langfuse-export" {
				kind, name, id = home.Langfuse, "old-trace.json", fakehomes.LangfuseTrace
				content = asAnswered(t, content)
			}
			f, h := serve(t, kind, true)
			f.Put(name, content)
			a, err := h.Trace(t.Context(), id, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			x := built(a.Data)[0]
			t.Logf("%d spans, %d model calls, %d tool calls", a.Spans, len(x.ModelCalls), len(x.ToolCalls))
			if len(x.ModelCalls) == 0 || a.Spans < 3 {
				t.Errorf("%d spans, %d model calls", a.Spans, len(x.ModelCalls))
			}
		})
	}
}

// asAnswered is what the API answers of a trace that was downloaded from the page: the trace holds its observations.
func asAnswered(t *testing.T, export []byte) []byte {
	t.Helper()
	var both struct {
		Trace        map[string]json.RawMessage `json:"trace"`
		Observations json.RawMessage            `json:"observations"`
	}
	if err := json.Unmarshal(export, &both); err != nil || both.Trace == nil {
		return export
	}
	both.Trace["observations"] = both.Observations
	out, err := json.Marshal(both.Trace)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

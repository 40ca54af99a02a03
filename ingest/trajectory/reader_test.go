package trajectory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/plog"
)

// What a Reader remembers never shows: a trace reads the same whatever came before it.
func TestReaderRemembersQuietly(t *testing.T) {
	var traces []Trace
	for _, file := range fixtureFiles(t) {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tds, ld := fixture(t, ar.Files[0].Data)
		traces = append(traces, FromOTLP(tds, []plog.Logs{ld})...)
	}
	var kept Reader
	for range 2 {
		for _, tr := range traces {
			want, err := json.Marshal(Build(tr))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(kept.Build(tr))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
		}
	}
}

// However many definitions come by, a Reader holds no more than its bound of them.
func TestReaderIsBounded(t *testing.T) {
	var r Reader
	description := strings.Repeat("x", 100_000)
	for i := range 100 {
		text := fmt.Sprintf(`[{"name":"tool_%d","description":"%s"}]`, i, description)
		for range 2 {
			if s := r.toolSet(text); len(s.Tools) != 1 || s.Tools[0].Name != fmt.Sprintf("tool_%d", i) {
				t.Fatalf("tool %d: %+v", i, s)
			}
		}
		held := 0
		for text := range r.tools {
			held += len(text)
		}
		if held > maxHeld || held != r.held {
			t.Fatalf("after %d it holds %d bytes, says %d, may hold %d", i, held, r.held, maxHeld)
		}
	}
}

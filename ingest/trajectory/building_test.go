package trajectory

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.opentelemetry.io/collector/pdata/plog"
)

// What the builder makes of spans beyond what each says by itself: one archive testdata/building/*.want per question, with the spans and
// records and what must be in the trajectories, as in TestTraps.
func TestBuilding(t *testing.T) {
	files, err := filepath.Glob("testdata/building/*.want")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	rnd := rand.New(rand.NewPCG(8, 9))
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".want"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil || len(ar.Files) != 2 || ar.Files[0].Name != "trace" || ar.Files[1].Name != "want" {
				t.Fatalf("want an archive of a trace and what is wanted: %v", err)
			}
			tds, ld := fixture(t, ar.Files[0].Data)
			logs := []plog.Logs{ld}
			var docs []any
			for _, tr := range FromOTLP(tds, logs) {
				docs = append(docs, document(t, Build(tr)))
			}
			checkWants(t, docs, ar.Files[1].Data)
			sameInAnyOrder(t, file, rnd, tds, logs)
		})
	}
}

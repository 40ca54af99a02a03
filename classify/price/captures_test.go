package price

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

const capturesDir = "../../../shared/data/captures"

// TestCaptures prices what real SDKs sent: every call that tells its tokens and its model has a cost, which is that of the makers' published
// prices of the three models that were run, reckoned here by themselves.
func TestCaptures(t *testing.T) {
	dirs, err := os.ReadDir(capturesDir)
	if err != nil {
		t.Skipf("no captures at %s", capturesDir)
	}
	tb := table(t)
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		calls, told, priced, reported := 0, 0, 0, 0
		files, err := filepath.Glob(filepath.Join(capturesDir, d.Name(), "*.truth.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", d.Name(), err)
		}
		for _, f := range files {
			for _, tr := range capture(t, strings.TrimSuffix(f, ".truth.json")) {
				tb.Fill(tr)
				for _, m := range tr.ModelCalls {
					calls++
					if m.Usage.Input == nil || m.Usage.Output == nil {
						continue
					}
					told++
					switch {
					case m.Usage.CostUSD == nil:
						t.Errorf("%s %s: no price of %q, %q of %q", d.Name(), filepath.Base(f), m.ModelResponded, m.ModelRequested, m.Provider)
						continue
					case m.Usage.CostFrom == trajectory.CostSpan:
						reported++
					default:
						if want := reckoned(m); math.Abs(*m.Usage.CostUSD-want) > 1e-9 {
							t.Errorf("%s %s: %q cost %v, reckoned %v", d.Name(), filepath.Base(f), m.ModelResponded, *m.Usage.CostUSD, want)
						}
					}
					priced++
				}
			}
		}
		t.Logf("%-36s %4d calls, %4d tell tokens, %4d priced (%d as reported)", d.Name(), calls, told, priced, reported)
	}
}

// reckoned is what a call cost by the price pages of the makers, in USD per million tokens: fresh, cached, written, out.
func reckoned(m trajectory.ModelCall) float64 {
	name := m.ModelResponded + " " + m.ModelRequested
	var p [4]float64
	switch {
	case strings.Contains(name, "gpt-4.1-mini"):
		p = [4]float64{0.4, 0.1, 0.4, 1.6}
	case strings.Contains(name, "claude-sonnet-4"):
		p = [4]float64{3, 0.3, 3.75, 15}
	case strings.Contains(name, "gemini-2.5-flash"):
		p = [4]float64{0.3, 0.03, 0.3, 2.5}
	default:
		return math.NaN()
	}
	read, wrote := float64(count(m.Usage.CacheRead)), float64(count(m.Usage.CacheWrite))
	return ((float64(*m.Usage.Input)-read-wrote)*p[0] + read*p[1] + wrote*p[2] + float64(*m.Usage.Output)*p[3]) / 1e6
}

func capture(t *testing.T, path string) []*trajectory.Trajectory {
	t.Helper()
	var tds []ptrace.Traces
	var lds []plog.Logs
	for _, line := range lines(t, path+".otlp.jsonl.gz") {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatal(err)
		}
		tds = append(tds, td)
	}
	for _, line := range lines(t, path+".logs.otlp.jsonl.gz") {
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
		if err != nil {
			t.Fatal(err)
		}
		lds = append(lds, ld)
	}
	var out []*trajectory.Trajectory
	for _, tr := range trajectory.FromOTLP(tds, lds) {
		out = append(out, trajectory.Build(tr))
	}
	return out
}

func lines(t *testing.T, path string) (out [][]byte) {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		out = append(out, append([]byte{}, sc.Bytes()...))
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
	return out
}

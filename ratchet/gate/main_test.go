package gate_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/oracle"
	"github.com/pawl-dev/pawl/ratchet/redact"
	"github.com/pawl-dev/pawl/test/sample"
)

var quiet = slog.New(slog.DiscardHandler)

// deskPath is the agent under test, a program of its own.
var deskPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "desk-")
	if err != nil {
		panic(err)
	}
	deskPath = filepath.Join(dir, "desk")
	if out, err := exec.Command("go", "build", "-o", deskPath, "github.com/pawl-dev/pawl/test/desk/run").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the agent under test does not build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// loopCase is the case that pawl makes of the sample's loop, whole.
func loopCase(t testing.TB) *gate.Case { return made(t, "loop") }

func made(t testing.TB, scenario string) *gate.Case {
	t.Helper()
	engine, err := classify.New(quiet, rule.All(), classify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	redactor, err := redact.New(quiet, redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &ratchet.Maker{Engine: engine, Oracle: oracle.New(quiet, rule.All()), Redactor: redactor}
	s := sample.Named(scenario)
	rng := rand.New(rand.NewPCG(1, 2))
	td := sample.Trace(sample.Dialects[0], s.Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	tr := trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
	for _, f := range engine.Classify(trajectory.Build(tr), nil).Findings {
		if string(f.Label) != s.Label {
			continue
		}
		made, err := m.Make([]trajectory.Trace{tr}, f, ratchet.Sightings{Count: 1, First: time.Now(), Last: time.Now()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := gate.NewCase(&made.Case, made.Trace)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatalf("the sample's %s shows no %s", scenario, s.Label)
	return nil
}

func agentCommand(modes ...string) gate.Agent {
	words := []string{strconv.Quote(deskPath)}
	return gate.Agent{Command: strings.Join(append(words, modes...), " ")}
}

func newGate(t testing.TB, o gate.Options) *gate.Gate {
	t.Helper()
	o.Settle = cmp.Or(o.Settle, 30*time.Millisecond) // the agents here send before they end
	g, err := gate.New(quiet, gate.ByOracle(oracle.New(quiet, rule.All())), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

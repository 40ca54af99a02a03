package ratchet

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/record"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/test/sample"
)

// steps are the traces of a run of which every step is one, and what their session shows.
func steps(t *testing.T, m *Maker, d sample.Dialect) ([]trajectory.Trace, []classify.Finding) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 4))
	td := sample.Session(d, sample.Named("loop").Make(rng), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rng)
	traces := trajectory.FromOTLP([]ptrace.Traces{td}, nil)
	var parts []*trajectory.Trajectory
	for _, tr := range traces {
		parts = append(parts, trajectory.Build(tr))
	}
	return traces, m.Engine.ClassifySession(trajectory.Join(parts), nil)
}

// TestMakeOfASession holds that the case of what a session shows has all traces up to the last evidence, redacted, red as a session, and the same bytes
// in whatever order the traces came.
func TestMakeOfASession(t *testing.T) {
	m := testMaker(t)
	for _, d := range sample.Dialects {
		t.Run(d.Name, func(t *testing.T) {
			traces, found := steps(t, m, d)
			if len(traces) != 7 || len(found) != 1 {
				t.Fatalf("%d traces, %+v", len(traces), found)
			}
			f := found[0]
			if f.TraceID() != traces[5].ID {
				t.Fatalf("the finding stands on %s", f.TraceID())
			}
			made, err := m.Make(traces, f, Sightings{Count: 1, Traces: []string{f.TraceID()}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			td, _, err := record.Decode(made.Trace)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, tr := range trajectory.FromOTLP([]ptrace.Traces{td}, nil) {
				ids = append(ids, tr.ID)
			}
			var want []string
			for _, tr := range traces[:6] {
				want = append(want, tr.ID)
			}
			if !slices.Equal(ids, want) || made.TraceID != traces[5].ID || made.Case.Provenance.Traces[0] != traces[5].ID {
				t.Errorf("recorded %v on %s, want %v", ids, made.TraceID, want)
			}
			red, err := Reread(made.Trace)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(m.Engine.ClassifySession(red, nil), func(g classify.Finding) bool { return g.Fingerprint.Equal(f.Fingerprint) }) {
				t.Error("the recorded session is not red")
			}
			if c, err := regcase.Decode(made.YAML); err != nil || len(c.Input.Turns) != 1 || len(c.Fixtures) != 1 {
				t.Errorf("%d turns and %d fixtures, %v, want one of each", len(c.Input.Turns), len(c.Fixtures), err)
			}
			for _, b := range [][]byte{made.YAML, made.Trace} {
				if bytes.Contains(b, []byte("customers.example")) {
					t.Error("the customer's address is still there")
				}
			}
			slices.Reverse(traces)
			again, err := m.Make(traces, f, Sightings{Count: 1, Traces: []string{f.TraceID()}}, nil)
			if err != nil || !bytes.Equal(again.Trace, made.Trace) || again.Digest != made.Digest {
				t.Errorf("another order gives another case: %v", err)
			}
		})
	}
}

// TestMakeOfASessionRefuses holds that no case is made of a part of the session that does not show the failure, nor of nothing.
func TestMakeOfASessionRefuses(t *testing.T) {
	m := testMaker(t)
	traces, found := steps(t, m, sample.Dialects[0])
	for name, some := range map[string][]trajectory.Trace{"two traces": traces[:2], "none": nil} {
		if _, err := m.Make(some, found[0], Sightings{Count: 1}, nil); err == nil {
			t.Errorf("%s: a case that cannot fail was made", name)
		} else if _, refused := AsRefused(err); !refused {
			t.Errorf("%s: %v is no refusal", name, err)
		}
	}
}

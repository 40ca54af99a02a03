package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/test/sample"
)

// TestAlmostFullDiskRefuses: below the reserve nothing is taken and the sender is told to come back; an answer holds for a second.
func TestAlmostFullDiskRefuses(t *testing.T) {
	if _, err := freeBytes(t.TempDir()); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	lg, now := slog.New(slog.DiscardHandler), time.Now()
	sp := newSpace(lg, t.TempDir(), math.MaxUint64)
	s := &server{lg: lg, space: sp}
	err := s.publish(t.Context(), wire.Batch{Signal: wire.Traces})
	if full, ok := errors.AsType[*otlp.FullError](err); !ok || full.RetryAfter <= 0 {
		t.Fatalf("publish on a full disk: %v", err)
	}
	sp.reserve = 0
	if !sp.scarce(sp.checked.Add(time.Second / 2)) {
		t.Error("it looked again at once")
	}
	if sp.scarce(sp.checked.Add(2 * time.Second)) {
		t.Error("it did not look again")
	}
	if newSpace(lg, filepath.Join(t.TempDir(), "absent"), math.MaxUint64).scarce(now) {
		t.Error("a disk that does not say is taken to be full")
	}
}

// TestATraceThatBreaksPawlIsAnError: a panic below judge becomes an error that names the trace. A server without a worker stands in for the bug.
func TestATraceThatBreaksPawlIsAnError(t *testing.T) {
	s := &server{lg: slog.New(slog.DiscardHandler)}
	rng := rand.New(rand.NewPCG(1, 2))
	td := sample.Trace(sample.Dialects[0], sample.Named("loop").Make(rng), time.Now(), rng)
	trace := trajectory.FromOTLP([]ptrace.Traces{td}, nil)[0]
	note, err := s.judge(t.Context(), trace, assemble.Revision{})
	if note != nil || err == nil || !strings.Contains(err.Error(), trace.ID+" broke pawl") {
		t.Errorf("note %q, error %v", note, err)
	}
}

// TestAFailingRoleStopsAll: the streams go away under the service; it ends with an error that says which part of it, and takes its listeners down.
func TestAFailingRoleStopsAll(t *testing.T) {
	a := &app{log: slog.New(slog.DiscardHandler)}
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	cfg.Listen = config.Listen{OTLPGRPC: "127.0.0.1:0", OTLPHTTP: "127.0.0.1:0", HTTP: "127.0.0.1:0"}
	s, err := a.newServer(t.Context(), cfg, allRoles, servicePace)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.run(t.Context()) }()
	if err := await(t.Context(), "the service", func(context.Context) (bool, error) { return s.ready.Load(), nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.q.Close(); err != nil {
		t.Fatal(err)
	}
	roles := []string{"work-0: ", "flags: ", "absorb: "} // whichever notices first
	if err := <-ended; err == nil || !slices.ContainsFunc(roles, func(role string) bool { return strings.HasPrefix(err.Error(), role) }) {
		t.Errorf("run ended with %v", err)
	}
	for _, addr := range []string{s.addresses().GRPC, s.addresses().HTTP, s.addresses().UI} {
		if c, err := net.Dial("tcp", addr); err == nil {
			t.Errorf("%s still listens", addr)
			c.Close()
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func TestARoleThatEndsEarlyHasFailed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if err := toTheEnd(ctx, "absorb", nil); err == nil {
		t.Error("a role that was done before its time is taken for good")
	}
	cancel()
	if err := toTheEnd(ctx, "absorb", nil); err != nil {
		t.Errorf("at the end: %v", err)
	}
}

func TestSetOfATargetIsAPlainPath(t *testing.T) {
	cfg := config.Config{Targets: []config.Target{{Service: "*", Repo: "acme/shop", Base: "main", Set: "./tests/regressions/"}}}
	if got := targetsOf(cfg)[0].Set; got != "tests/regressions" {
		t.Errorf("set %q", got)
	}
}

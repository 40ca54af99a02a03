package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/test/sample"
)

// writeShipped puts runs of the sample agent, as one version of its service made them a minute apart, into a file. Each file has ids of its own.
func writeShipped(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: shipped SCENARIO VERSION MINUTE COUNT FILE")
	}
	minute, err := strconv.Atoi(args[2])
	ts.Check(err)
	count, err := strconv.Atoi(args[3])
	ts.Check(err)
	rng := rand.New(rand.NewPCG(uint64(minute), 7))
	all := ptrace.NewTraces()
	for i := range count {
		start := time.Date(2026, 11, 30, 9, minute+i, 0, 0, time.UTC)
		td := sample.Trace(sample.Dialects[0], sample.Named(args[0]).Make(rng), start, rng)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("service.version", args[1])
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	out, err := (&ptrace.JSONMarshaler{}).MarshalTraces(all)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[4]), out, 0o666))
}

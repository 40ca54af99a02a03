package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/schollz/progressbar/v3"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"golang.org/x/term"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/test/sample"
)

// demoHealthy is how many healthy runs each dialect sends first: what the cost rule needs to know a normal run.
const demoHealthy = 22

// demoPath sends the sample and waits until every failure has its pull request.
func (a *app) demoPath(ctx context.Context, s *server) error {
	rng := rand.New(rand.NewPCG(2026, 11))
	var healthy, failing []demoTrace
	want := map[string]bool{}
	for _, d := range sample.Dialects {
		for range demoHealthy {
			healthy = append(healthy, newDemoTrace(d, sample.Named("healthy"), rng))
		}
		for _, sc := range sample.Scenarios {
			byRoute := sc.Name == "spike" || sc.Name == "overflow" // and the dialects name their routes apart: once is enough
			if sc.Name == "healthy" || byRoute && d.Name != "otel-genai" {
				continue
			}
			failing = append(failing, newDemoTrace(d, sc, rng))
			if sc.Label != "" {
				want[sc.Label] = true
			}
		}
	}
	send, stop, err := s.demoSender()
	if err != nil {
		return err
	}
	defer stop()
	bar := a.progress(len(healthy)+len(failing), "sending traces over OTLP")
	if err := sendAll(ctx, send, healthy, bar); err != nil {
		return err
	}
	if err := await(ctx, "healthy runs to be learnt", s.demoLearnt); err != nil {
		return err
	}
	if err := sendAll(ctx, send, failing, bar); err != nil {
		return err
	}
	bar.Finish()
	bar = a.progress(len(want), "opening pull requests")
	err = await(ctx, "pull requests to be opened", func(ctx context.Context) (bool, error) {
		n, err := s.demoOpened(ctx)
		bar.Set(min(n, len(want)))
		return n >= len(want), err
	})
	bar.Finish()
	return err
}

type demoTrace struct {
	dialect string
	data    ptrace.Traces
}

func newDemoTrace(d sample.Dialect, s sample.Scenario, rng *rand.Rand) demoTrace {
	return demoTrace{d.Name, sample.Trace(d, s.Make(rng), time.Now().Add(-time.Minute), rng)}
}

type sender func(ctx context.Context, t demoTrace) error

// demoSender sends as exporters do: two of the dialects over gRPC, two over HTTP, one of them in JSON.
func (s *server) demoSender() (sender, func(), error) {
	at := s.addresses()
	conn, err := grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	client := ptraceotlp.NewGRPCClient(conn)
	send := func(ctx context.Context, t demoTrace) error {
		req := ptraceotlp.NewExportRequestFromTraces(t.data)
		switch t.dialect {
		case "otel-genai", "openllmetry":
			_, err := client.Export(ctx, req)
			return err
		case "openinference":
			body, err := req.MarshalProto()
			return errors.Join(err, post(ctx, at.HTTP, "application/x-protobuf", body))
		default:
			body, err := req.MarshalJSON()
			return errors.Join(err, post(ctx, at.HTTP, "application/json", body))
		}
	}
	return send, func() { conn.Close() }, nil
}

func post(ctx context.Context, addr, kind string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("the receiver answered %s", res.Status))
	}
	return nil
}

func sendAll(ctx context.Context, send sender, traces []demoTrace, bar *progressbar.ProgressBar) error {
	for _, t := range traces {
		if err := send(ctx, t); err != nil {
			return fmt.Errorf("send a trace of %s: %w", t.dialect, err)
		}
		bar.Add(1)
	}
	return nil
}

// progress is a bar on stderr for people; into a file or a pipe it writes nothing. Of -1 the end is not known: it is drawn at once, and when something is added. The
// bar's own spinner would draw from a goroutine that looks at it without its lock.
func (a *app) progress(n int, what string) *progressbar.ProgressBar {
	out := io.Discard
	if f, ok := a.stderr.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		out = a.stderr
	}
	return progressbar.NewOptions(n, progressbar.OptionSetSpinnerChangeInterval(0), progressbar.OptionSetRenderBlankState(n < 0), progressbar.OptionSetWriter(out), progressbar.OptionSetDescription(fmt.Sprintf("%-26s", what)),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionOnCompletion(func() { fmt.Fprintln(out) }))
}

// await asks again and again until the answer is yes.
func await(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		yes, err := ask(ctx)
		if err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("waited %s for %s: run again with --log-level debug", demoTimeout, what)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// demoLearnt says whether the workers' baselines know all the healthy runs.
func (s *server) demoLearnt(context.Context) (bool, error) {
	snap := s.bases.Current()
	routes := 0
	for _, k := range snap.Keys() {
		if snap.Stats(k, baseline.TotalTokens).N >= demoHealthy {
			routes++
		}
	}
	return routes >= len(sample.Dialects), nil
}

// demoOpened counts the batches whose pull request is open and read back.
func (s *server) demoOpened(ctx context.Context) (n int, err error) {
	batches, err := s.absorber.Batches(ctx)
	for _, b := range batches {
		if b.Intent != nil && b.Intent.Receipt.State == ghpr.StateOpen && b.Intent.Done() {
			n++
		}
	}
	return n, err
}

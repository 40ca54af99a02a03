// Command load measures `pawl serve` under load:
//
//	go build -o /tmp/pawl ./cmd/pawl
//	go run ./test/load -pawl /tmp/pawl -spans 240000 -connections 32
//
// It starts the service on a new directory, sends traces of an agent in a closed loop over OTLP HTTP, one trace a request, waits until all of them are
// judged, and prints one JSON object: rates, the CPU that the service took, its memory. Numbers of two runs compare when the machine was otherwise
// idle; it asserts nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.pawl, "pawl", "pawl", "`program` to measure")
	flag.StringVar(&o.profile, "cpuprofile", "", "`file` for the service's CPU profile")
	flag.IntVar(&o.spans, "spans", 240_000, "`number` of spans to send")
	flag.IntVar(&o.connections, "connections", 32, "`number` of connections, each with one request on its way")
	flag.Float64Var(&o.failing, "failing", 0.01, "`part` of the traces that show a loop")
	flag.Parse()
	r, err := measure(ctx, o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	pawl, profile      string
	spans, connections int
	failing            float64
}

// result is what is printed. Memory is RssAnon: what is not backed by files.
type result struct {
	Spans         int     `json:"spans"`
	Traces        int     `json:"traces"`
	TraceBytes    int     `json:"bytes_per_trace"`
	SendSeconds   float64 `json:"send_seconds"`
	SpansPerSec   float64 `json:"spans_per_second"` // accepted
	P50           float64 `json:"accept_p50_ms"`
	P99           float64 `json:"accept_p99_ms"`
	Refused       int64   `json:"refused"`       // and sent again
	DrainSeconds  float64 `json:"drain_seconds"` // from the last answer until the last trace is judged, a root's second of grace included
	Findings      int     `json:"findings"`      // counted in groups
	CPUPerMillion float64 `json:"cpu_seconds_per_million_spans"`
	PeakMemory    int     `json:"peak_anon_mb"`
	LastMemory    int     `json:"last_anon_mb"`
	DiskMB        int     `json:"disk_mb"` // left in the data directory
	WrittenMB     int     `json:"written_mb"`
}

func measure(ctx context.Context, o options) (result, error) {
	dir, err := os.MkdirTemp("", "pawl-load-")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(dir)
	p, err := startPawl(ctx, o, dir)
	if err != nil {
		return result{}, err
	}
	defer p.kill()
	traces := (o.spans + spansPerTrace - 1) / spansPerTrace
	r := result{Spans: traces * spansPerTrace, Traces: traces}
	g := &generator{to: p.at.HTTP, failing: o.failing, healthy: newTemplate(false), looping: newTemplate(true)}
	r.TraceBytes = len(g.healthy.body)
	watch := p.watch()
	start := time.Now()
	if err := g.send(ctx, traces, o.connections); err != nil {
		return r, err
	}
	sent := time.Now()
	if err := p.drained(ctx, traces); err != nil {
		return r, err
	}
	drained := time.Now()
	r.Findings = int(g.loops.Load())
	if err := p.findings(ctx, r.Findings); err != nil {
		return r, err
	}
	use := watch()
	r.SendSeconds, r.DrainSeconds = sent.Sub(start).Seconds(), drained.Sub(sent).Seconds()
	r.SpansPerSec = float64(r.Spans) / r.SendSeconds
	r.P50, r.P99, r.Refused = g.quantile(0.5), g.quantile(0.99), g.refused.Load()
	r.CPUPerMillion = use.cpu.Seconds() / float64(r.Spans) * 1e6
	r.PeakMemory, r.LastMemory, r.WrittenMB = use.peak>>20, use.last>>20, use.written>>20
	r.DiskMB = int(diskUse(dir) >> 20)
	return r, p.stop()
}

// generator sends traces in a closed loop.
type generator struct {
	to               string
	failing          float64
	healthy, looping template
	loops, refused   atomic.Int64

	mu    sync.Mutex
	times []time.Duration
}

func (g *generator) send(ctx context.Context, traces, connections int) error {
	var next atomic.Int64
	errs := make([]error, connections)
	var wg sync.WaitGroup
	for c := range connections {
		wg.Go(func() { errs[c] = g.connection(ctx, &next, int64(traces), uint64(c)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// connection is one raw HTTP/1.1 connection: a client library would cost as much as the service.
func (g *generator) connection(ctx context.Context, next *atomic.Int64, traces int64, n uint64) error {
	conn, err := net.Dial("tcp", g.to)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	rng := rand.New(rand.NewPCG(7, n))
	healthy, looping := g.healthy.copy(), g.looping.copy()
	var times []time.Duration
	for next.Add(1) <= traces && ctx.Err() == nil {
		t := healthy
		if rng.Float64() < g.failing {
			t = looping
			g.loops.Add(1)
		}
		t.stamp(rng)
		took, err := g.request(conn, in, t)
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.times = append(g.times, times...)
	return context.Cause(ctx)
}

// request sends until the trace is accepted.
func (g *generator) request(conn net.Conn, in *bufio.Reader, t template) (time.Duration, error) {
	for {
		start := time.Now()
		if _, err := conn.Write(t.request); err != nil {
			return 0, err
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0, err
		}
		if _, err := in.Discard(int(max(0, res.ContentLength))); err != nil {
			return 0, err
		}
		switch res.StatusCode {
		case http.StatusOK:
			return time.Since(start), nil
		case http.StatusServiceUnavailable:
			g.refused.Add(1)
			time.Sleep(100 * time.Millisecond)
		default:
			return 0, fmt.Errorf("the receiver answered %s", res.Status)
		}
	}
}

func (g *generator) quantile(q float64) float64 {
	slices.Sort(g.times)
	return float64(g.times[int(q*float64(len(g.times)-1))].Microseconds()) / 1000
}

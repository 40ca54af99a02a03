// Command seed fills the data directory of a service that does not run, so that its pages can be looked at and measured with much in it:
//
//	go run ./test/seed -dir data -groups 10000 -traces 100000
//	pawl serve -c pawl.yaml          # with data_dir: data; it assembles and judges the traces first
//	go run ./test/seed -measure http://127.0.0.1:7295
//
// Groups, batches and services go where the absorber keeps them, as it writes them; traces go into the stream of spans, as a receiver puts them there, and
// specimens name them. Equal arguments give equal failures. Measuring asks for each page a number of times and prints how long the answers took.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/test/sample"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.dir, "dir", "", "data `directory` to fill")
	flag.IntVar(&o.groups, "groups", 3, "`number` of groups")
	flag.IntVar(&o.traces, "traces", 100, "`number` of traces")
	flag.StringVar(&o.measure, "measure", "", "`URL` of a service whose pages to measure")
	flag.IntVar(&o.times, "times", 20, "`number` of times that each page is asked for")
	flag.Parse()
	var err error
	if o.measure != "" {
		err = measure(ctx, o.measure, o.times)
	} else {
		err = seed(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	dir, measure          string
	groups, traces, times int
}

func seed(ctx context.Context, o options) (err error) {
	if o.dir == "" {
		return errors.New("seed: -dir names the data directory to fill")
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	q, err := queue.Open(ctx, slog.New(slog.DiscardHandler), queue.Options{Dir: filepath.Join(o.dir, "stream"), Partitions: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	rng := rand.New(rand.NewPCG(7295, 9))
	ids, err := putTraces(ctx, q, rng, o.traces)
	if err != nil {
		return err
	}
	return putGroups(ctx, q, rng, o.groups, ids)
}

// inOne is how many traces a message of the stream holds.
const inOne = 100

// putTraces publishes traces of all dialects and scenarios, most of them healthy, and returns the ids of the first.
func putTraces(ctx context.Context, q *queue.Queue, rng *rand.Rand, n int) (ids []string, err error) {
	all, now := ptrace.NewTraces(), time.Now()
	for i := range n {
		sc := sample.Named("healthy")
		if rng.IntN(20) == 0 {
			sc = sample.Scenarios[rng.IntN(len(sample.Scenarios))]
		}
		td := sample.Trace(sample.Dialects[i%len(sample.Dialects)], sc.Make(rng), now.Add(-time.Duration(rng.IntN(3600))*time.Second), rng)
		if len(ids) < 1000 {
			ids = append(ids, td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String())
		}
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
		if (i+1)%inOne > 0 && i+1 < n {
			continue
		}
		body, err := ptraceotlp.NewExportRequestFromTraces(all).MarshalProto()
		if err != nil {
			return nil, err
		}
		if err := q.Publish(ctx, 0, queue.Traces, body); err != nil {
			return nil, err
		}
		all = ptrace.NewTraces()
	}
	return ids, nil
}

// put stores a value under its key.
func put(ctx context.Context, b *queue.Bucket, key string, value any) error {
	doc, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return b.Update(ctx, key, func([]byte) ([]byte, error) { return doc, nil })
}

// Package seed fills the data directory of a service that does not run, so that its pages can be looked at and measured with much in it.
//
// Groups, batches and services go where the absorber keeps them, as it writes them; traces go into the stream of spans, as a receiver puts them there, and
// specimens name them. Equal arguments give equal failures.
package seed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/test/sample"
)

// Fill writes groups and traces into a data directory, which no service may have open.
func Fill(ctx context.Context, dir string, groups, traces int) (err error) {
	if dir == "" {
		return errors.New("seed: name the data directory to fill")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	q, err := queue.Open(ctx, slog.New(slog.DiscardHandler), queue.Options{Dir: filepath.Join(dir, "stream"), Partitions: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	rng := rand.New(rand.NewPCG(7295, 9))
	ids, err := putTraces(ctx, q, rng, traces)
	if err != nil {
		return err
	}
	return putGroups(ctx, q, rng, groups, ids)
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

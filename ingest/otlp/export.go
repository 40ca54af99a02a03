package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Request is one export request as it came, inflated: its signal, whether the body is JSON rather than protobuf, and a
// word for the counters that says how it came (grpc, http, or what a caller likes).
type Request struct {
	Signal wire.Signal
	JSON   bool
	Body   []byte
	Via    string
}

// MalformedError says that a body is not an export request and never will be.
type MalformedError struct{ Err error }

// Error names the place in the body.
func (e *MalformedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *MalformedError) Unwrap() error { return e.Err }

// Export checks, mends, cuts and publishes one request, and returns once all of it is stored. The report says what was
// left out or mended. Errors: [*MalformedError]; or what [Publish] returned, in which case parts of the request may be
// stored: spans are keyed by their ids, so sending it again is harmless.
func (r *Receiver) Export(ctx context.Context, req Request) (wire.Report, error) {
	report, err := r.export(ctx, req)
	r.counts.request(req, report, err)
	return report, err
}

func (r *Receiver) export(ctx context.Context, req Request) (wire.Report, error) {
	var report wire.Report
	body := req.Body
	var err error
	if req.JSON && len(bytes.TrimSpace(body)) == 0 {
		body, req.JSON = nil, false // a probe, as an empty protobuf body is
	}
	if req.JSON {
		if body, report, err = wire.Transcode(req.Signal, body); err != nil {
			return wire.Report{}, &MalformedError{err}
		}
	}
	kept, mended, err := r.opt.Filter.Apply(req.Signal, body)
	if err != nil {
		return wire.Report{}, &MalformedError{err}
	}
	report.Merge(mended)
	batches, err := r.opt.Filter.Cut(req.Signal, kept, r.opt.Partitions)
	if err != nil {
		return wire.Report{}, &MalformedError{err}
	}
	if report.Untraced > 0 && r.opt.Adopt != nil {
		adopted, err := r.adopt(body, &report)
		if err != nil {
			return wire.Report{}, &MalformedError{err}
		}
		batches = append(batches, adopted...)
	}
	return report, r.store(ctx, batches)
}

// adopt makes spans of the log records without a trace id that tell of an agent. Those that Adopt leaves out stay untraced.
func (r *Receiver) adopt(body []byte, report *wire.Report) ([]wire.Batch, error) {
	logs, err := r.opt.Filter.Untraced(body)
	if err != nil {
		return nil, err
	}
	spans := r.opt.Adopt(logs)
	n := spans.SpanCount()
	if n == 0 {
		return nil, nil
	}
	out, err := wire.Marshal(wire.Data{Signal: wire.Traces, Traces: spans})
	if err != nil {
		return nil, err
	}
	out, mended, err := r.opt.Filter.Apply(wire.Traces, out)
	if err != nil {
		return nil, err
	}
	mended.Spans = 0 // the request held none
	report.Merge(mended)
	report.Untraced -= n
	report.Adopted += n
	return r.opt.Filter.Cut(wire.Traces, out, r.opt.Partitions)
}

// store publishes the batches side by side: each waits for a sync of its own partition.
func (r *Receiver) store(ctx context.Context, batches []wire.Batch) error {
	if len(batches) == 1 {
		return r.publish(ctx, batches[0])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for _, b := range batches {
		group.Go(func() error { return r.publish(ctx, b) })
	}
	return group.Wait()
}

// retry is how soon a sender should come back after an error whose cause names no time.
const retry = time.Second

// refusal is an error as both transports answer it. Again tells that sending the request again may succeed.
type refusal struct {
	outcome string // for the counters
	message string
	again   bool
	after   time.Duration
}

func refuse(err error) refusal {
	if e, ok := errors.AsType[*MalformedError](err); ok {
		return refusal{outcome: "malformed", message: short(e.Error())}
	}
	if e, ok := errors.AsType[*FullError](err); ok {
		return refusal{outcome: "full", message: e.Error(), again: true, after: max(e.RetryAfter, 0)}
	}
	if errors.Is(err, ErrTooLarge) {
		return refusal{outcome: "too_large", message: "the request holds spans too large to be stored"}
	}
	return refusal{outcome: "unavailable", message: "not stored: the outcome is unknown, send again", again: true, after: retry}
}

// maxMessage bounds the text in an answer: exporters print it once a batch.
const maxMessage = 512

func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

// partial is the sentence of a partial success; empty where there is nothing to say.
func partial(report wire.Report) string {
	var parts []string
	if why := report.Rejected.String(); why != "" {
		parts = append(parts, fmt.Sprintf("rejected: %s", why))
	}
	return short(strings.Join(append(parts, report.Warnings...), "; "))
}

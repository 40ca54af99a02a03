package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/otlp"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// inletOptions are the receiver's, without addresses to listen on: what is fetched and what others' subjects carry goes in as if it had been sent.
func (s *server) inletOptions() (o otlp.Options, err error) {
	in := s.cfg.Ingest
	o = otlp.Options{Partitions: s.q.Partitions(), MaxWire: int(in.Limits.Body), MaxInflated: int(in.Limits.Inflated), Registerer: s.reg, Adopt: trajectory.AgentEvents}
	if o.Filter, err = wire.NewFilter(scrubOf(in), s.q.MaxBody()); err != nil {
		return o, usageError(err, "ingest.drop and ingest.mask in pawl.yaml")
	}
	return o, nil
}

func (s *server) openReceiver(context.Context) (err error) {
	if !s.plays(roleReceive) {
		return nil
	}
	in := s.cfg.Ingest
	o, err := s.inletOptions()
	if err != nil {
		return err
	}
	o.GRPC, o.HTTP, o.Insecure = string(s.cfg.Listen.OTLPGRPC), string(s.cfg.Listen.OTLPHTTP), in.Anonymous
	for _, t := range in.Tokens {
		o.Tokens = append(o.Tokens, t.Reveal())
	}
	if in.TLS.Cert != "" {
		if o.TLS, err = otlp.LoadTLS(in.TLS.Cert, in.TLS.Key, in.TLS.ClientCA); err != nil {
			return usageError(err, "ingest.tls in pawl.yaml")
		}
	}
	if s.receiver, err = otlp.New(s.lg, s.publish, o); err != nil {
		return usageError(err, "another port under listen in pawl.yaml; port 0 takes any free one")
	}
	s.onClose("receivers", s.receiver.Stop)
	return nil
}

func scrubOf(in config.Ingest) wire.Scrub {
	var out wire.Scrub
	for _, d := range in.Drop {
		out.Drop = append(out.Drop, string(d))
	}
	for _, m := range in.Mask {
		out.Mask = append(out.Mask, string(m))
	}
	return out
}

// publish stores a batch in the stream, and translates the stream's refusals into the receiver's.
func (s *server) publish(ctx context.Context, b wire.Batch) error {
	if s.space.scarce(time.Now()) {
		return &otlp.FullError{RetryAfter: 30 * time.Second}
	}
	signal := queue.Traces
	if b.Signal == wire.Logs {
		signal = queue.Logs
	}
	err := s.q.Publish(ctx, b.Partition, signal, b.Body)
	if full, ok := errors.AsType[*queue.FullError](err); ok {
		return &otlp.FullError{RetryAfter: full.RetryAfter}
	}
	if _, ok := errors.AsType[*queue.TooLargeError](err); ok {
		return fmt.Errorf("%w: %w", otlp.ErrTooLarge, err)
	}
	return err
}

// runSources reads the team's own subjects. One that cannot be read is reported and does not stop the others or the receivers.
func (s *server) runSources(ctx context.Context, g *errgroup.Group) {
	for _, c := range s.cfg.Queue.Sources {
		src := queue.Source{URL: c.URL, Access: accessOf(c.Credentials, c.TLS), Subject: c.Subject, Stream: c.Stream, JetStream: c.Stream != "",
			Durable: "pawl-" + c.Name, Signal: queue.Signal(c.Signal), Encoding: queue.Encoding(c.Encoding)}
		g.Go(func() error {
			if err := s.q.RunSource(ctx, src, s.accept); err != nil && ctx.Err() == nil {
				s.lg.Error("a source of queue.sources stopped", "source", c.Name, "err", err)
			}
			return nil
		})
	}
}

// accept takes one message of a source the way that the receivers take a request.
func (s *server) accept(ctx context.Context, signal queue.Signal, enc queue.Encoding, body []byte) error {
	req := otlp.Request{Signal: wire.Traces, JSON: enc == queue.JSON, Body: body, Via: "source"}
	if signal == queue.Logs {
		req.Signal = wire.Logs
	}
	_, err := s.receiver.Export(ctx, req)
	if bad, ok := errors.AsType[*otlp.MalformedError](err); ok {
		return &queue.MalformedError{Reason: "malformed", Err: bad}
	}
	if full, ok := errors.AsType[*otlp.FullError](err); ok {
		return &queue.FullError{What: "stream", RetryAfter: full.RetryAfter}
	}
	return err
}

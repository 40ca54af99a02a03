package queue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Encoding of a body from a source.
type Encoding string

// The encodings of OTLP. Auto is told from the message's Content-Type header, else from the bytes.
const (
	Protobuf Encoding = "protobuf"
	JSON     Encoding = "json"
	Auto     Encoding = "auto"
)

const (
	sourceParallel = 32       // bodies handed over at a time, so that they can share a group commit
	sourcePull     = 16 << 20 // bytes prefetched
	sourceAckWait  = 2 * time.Minute
	lossInterval   = time.Minute // between two log lines about lost messages
)

// Source is a subject of the team's own NATS that carries plain OTLP requests.
//
// With JetStream a durable consumer reads it and a message is acknowledged only once Accept has stored it: nothing is lost, and
// a message may come twice. A core NATS subject knows no acknowledgement: what arrives while pawl is down, full or out of reach
// is lost. What is lost while pawl runs is counted (pawl_queue_source_lost_total) and logged once a minute.
type Source struct {
	URL      string // of the team's server; empty means the queue's own server
	Access   Access // to URL
	Subject  string
	Stream   string // that holds Subject; empty asks the server. JetStream only
	Durable  string // name of the consumer, or of the queue group; default "pawl"
	Encoding Encoding
	Signal   Signal

	JetStream bool
}

// Accept stores one OTLP request and returns once it is stored. What it returns decides what becomes of the message:
// nil acknowledges; *FullError and *UnavailableError put it back for their RetryAfter; *MalformedError and *TooLargeError put
// it into quarantine for good; anything else puts it back.
type Accept func(ctx context.Context, s Signal, e Encoding, body []byte) error

// MalformedError tells a source that a body can never be understood.
type MalformedError struct {
	Reason string // of the quarantine, such as "bad_protobuf"
	Err    error
}

func (e *MalformedError) Error() string { return fmt.Sprintf("malformed (%s): %v", e.Reason, e.Err) }

// Unwrap returns the cause.
func (e *MalformedError) Unwrap() error { return e.Err }

// source is a running Source.
type source struct {
	Source
	q      *Queue
	accept Accept
	nc     *nats.Conn
	slots  chan struct{}
	busy   sync.WaitGroup
	warned sync.Once
}

// RunSource reads a source and hands each body to accept, up to 32 at a time, until ctx ends (then it returns nil) or the source
// cannot be read any more. A lost connection is waited for.
func (q *Queue) RunSource(ctx context.Context, src Source, accept Accept) error {
	if src.Subject == "" || (src.Signal != Traces && src.Signal != Logs) {
		return fmt.Errorf("queue: source %q: needs a subject and a signal, %s or %s", src.Subject, Traces, Logs)
	}
	src.Encoding, src.Durable = cmp.Or(src.Encoding, Auto), cmp.Or(src.Durable, "pawl")
	s := &source{Source: src, q: q, accept: accept, slots: make(chan struct{}, sourceParallel)}
	if err := s.connect(); err != nil {
		return err
	}
	defer s.nc.Close()
	defer s.busy.Wait()
	if src.JetStream {
		return s.runJetStream(ctx)
	}
	return s.runCore(ctx)
}

func (s *source) connect() (err error) {
	opts, to := s.Access.options(), s.URL
	if to == "" {
		to, opts = s.q.opts.URL, s.q.opts.Access.options()
		if s.q.srv != nil {
			opts = append(opts, nats.InProcessServer(s.q.srv))
		}
	}
	onError := func(nc *nats.Conn, sub *nats.Subscription, err error) {
		if !errors.Is(err, nats.ErrSlowConsumer) { // counted and logged by reportLoss
			s.q.logAsync(nc, sub, err)
		}
	}
	s.nc, err = s.q.dial(to, "pawl source "+s.Subject, onError, opts...)
	return err
}

// handle runs f in one of the slots, waiting for one; false when ctx ended first.
func (s *source) handle(ctx context.Context, f func()) bool {
	select {
	case s.slots <- struct{}{}:
		s.busy.Go(func() {
			defer func() { <-s.slots }()
			f()
		})
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *source) runJetStream(ctx context.Context) error {
	cons, err := s.consumer(ctx)
	if err != nil {
		return fmt.Errorf("queue: source %s: %w", s.Subject, err)
	}
	fatal := make(chan error, 1)
	pull := max(sourcePull, 3*int(s.nc.MaxPayload()))
	cc, err := cons.Consume(func(m jetstream.Msg) {
		s.handle(ctx, func() { s.settle(ctx, m) })
	}, jetstream.PullMaxBytes(pull), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		s.q.lg.Debug("source", "subject", s.Subject, "err", err)
		if errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConnectionClosed) {
			select {
			case fatal <- err:
			default:
			}
		}
	}))
	if err != nil {
		return fmt.Errorf("queue: source %s: %w", s.Subject, err)
	}
	defer func() {
		cc.Stop()
		<-cc.Closed()
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-s.q.ctx.Done():
		return ErrClosed
	case err := <-fatal:
		return fmt.Errorf("queue: source %s: %w", s.Subject, err)
	}
}

// consumer opens the durable consumer, or makes it.
func (s *source) consumer(ctx context.Context) (jetstream.Consumer, error) {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return nil, err
	}
	stream := s.Stream
	if stream == "" {
		if stream, err = js.StreamNameBySubject(ctx, s.Subject); err != nil {
			return nil, fmt.Errorf("find the stream that holds it: %w%s", err, jetStreamHint(err))
		}
	}
	cons, err := js.Consumer(ctx, stream, s.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		cons, err = js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Durable: s.Durable, FilterSubject: s.Subject, AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: sourceAckWait, MaxDeliver: -1, MaxAckPending: 4096,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("consumer %s of stream %s: %w%s", s.Durable, stream, err, jetStreamHint(err))
	}
	cfg := cons.CachedInfo().Config
	if cfg.AckPolicy != jetstream.AckExplicitPolicy || cfg.MaxDeliver > 0 || cfg.FilterSubject != s.Subject {
		return nil, fmt.Errorf("consumer %s of stream %s exists with ack policy %v, max deliver %d, filter %q; it must have explicit, -1, %q: remove it, or name another",
			s.Durable, stream, cfg.AckPolicy, cfg.MaxDeliver, cfg.FilterSubject, s.Subject)
	}
	return cons, nil
}

// settle hands one message over and answers the server. An answer that is lost brings the message again.
func (s *source) settle(ctx context.Context, m jetstream.Msg) {
	err := s.offer(ctx, m.Headers(), m.Data())
	var answer error
	if delay, again := retryDelay(err); again {
		answer = m.NakWithDelay(delay)
	} else if err != nil {
		answer = m.TermWithReason("in pawl's quarantine")
	} else {
		answer = m.Ack()
	}
	if answer != nil {
		s.q.lg.Debug("source: answer", "subject", s.Subject, "err", answer)
	}
}

// offer hands a body to accept and puts it into quarantine when it is refused for good. It returns what accept did, or why the
// quarantine failed.
func (s *source) offer(ctx context.Context, h nats.Header, body []byte) error {
	s.q.metrics.received.WithLabelValues(s.Subject).Inc()
	err := s.accept(ctx, s.Signal, detect(s.Encoding, h, body), body)
	if _, again := retryDelay(err); err == nil || again {
		return err
	}
	reason := "too_large"
	if bad, ok := errors.AsType[*MalformedError](err); ok {
		reason = bad.Reason
	}
	s.warned.Do(func() {
		s.q.lg.Warn("a message of a source is not what it should hold and went into the quarantine; more of them are only counted",
			"subject", s.Subject, "signal", s.Signal, "encoding", s.Encoding, "why", err)
	})
	meta := map[string]string{"subject": s.Subject, "signal": string(s.Signal), "error": err.Error()}
	if qerr := s.q.Quarantine(ctx, reason, meta, body); qerr != nil {
		return qerr
	}
	return err
}

// retryDelay tells whether a body that accept refused may be offered again, and when.
func retryDelay(err error) (time.Duration, bool) {
	if err == nil {
		return 0, false
	}
	if e, ok := errors.AsType[*FullError](err); ok {
		return e.RetryAfter, true
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok {
		return e.RetryAfter, true
	}
	_, malformed := errors.AsType[*MalformedError](err)
	_, tooLarge := errors.AsType[*TooLargeError](err)
	return 5 * time.Second, !malformed && !tooLarge
}

// runCore reads a subject without acknowledgement. One goroutine takes what the client buffers, so that at the end what is left
// there can be counted.
func (s *source) runCore(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unhook := context.AfterFunc(s.q.ctx, cancel)
	defer unhook()
	sub, err := s.nc.QueueSubscribeSync(s.Subject, s.Durable)
	if err == nil {
		err = sub.SetPendingLimits(-1, sourcePull)
	}
	if err != nil {
		return fmt.Errorf("queue: source %s: %w", s.Subject, err)
	}
	var lost lossCount
	var reporter sync.WaitGroup
	reporter.Go(func() { s.reportLosses(ctx, sub, &lost) })
	err = s.readCore(ctx, sub, &lost)
	cancel()
	reporter.Wait()
	s.busy.Wait()
	s.lose(&lost, pendingOf(sub))
	s.reportLoss(sub, &lost)
	if s.q.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

func (s *source) readCore(ctx context.Context, sub *nats.Subscription, lost *lossCount) error {
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				s.lose(lost, 1)
			}
			return nil
		case errors.Is(err, nats.ErrSlowConsumer): // once after a loss; reportLoss counts it
			continue
		case err != nil:
			return fmt.Errorf("queue: source %s: %w", s.Subject, err)
		}
		taken := s.handle(ctx, func() {
			if _, again := retryDelay(s.offer(ctx, m.Header, m.Data)); again {
				s.lose(lost, 1)
			}
		})
		if !taken {
			s.lose(lost, 1)
		}
	}
}

func (s *source) lose(lost *lossCount, n int) {
	lost.add(n)
	s.q.metrics.lost.WithLabelValues(s.Subject).Add(float64(n))
}

func pendingOf(sub *nats.Subscription) int {
	n, _, err := sub.Pending()
	if err != nil {
		return 0
	}
	return n
}

func (s *source) reportLosses(ctx context.Context, sub *nats.Subscription, lost *lossCount) {
	tick := time.NewTicker(lossInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.reportLoss(sub, lost)
		}
	}
}

// reportLoss adds what the client dropped and logs the loss since the last time, if any.
func (s *source) reportLoss(sub *nats.Subscription, lost *lossCount) {
	if n, err := sub.Dropped(); err == nil {
		s.q.metrics.lost.WithLabelValues(s.Subject).Add(float64(lost.addDropped(n)))
	}
	if n := lost.take(); n > 0 {
		s.q.lg.Warn("messages of a core NATS subject were lost: pawl was full or unavailable, and the subject knows no acknowledgement; use a JetStream subject to lose none",
			"subject", s.Subject, "lost", n)
	}
}

// lossCount counts lost messages between two reports.
type lossCount struct {
	mu         sync.Mutex
	n, dropped int
}

func (l *lossCount) add(n int) {
	l.mu.Lock()
	l.n += n
	l.mu.Unlock()
}

// addDropped takes the client's running total and returns how much is new.
func (l *lossCount) addDropped(total int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := total - l.dropped
	l.dropped = total
	l.n += fresh
	return fresh
}

func (l *lossCount) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.n
	l.n = 0
	return n
}

// detect resolves Auto. JSON begins with a brace, perhaps after white space; a protobuf request begins with 0x0a, which is a
// newline too, so only such a body is worth a full look.
func detect(e Encoding, h nats.Header, body []byte) Encoding {
	if e != Auto {
		return e
	}
	switch t, _, _ := strings.Cut(h.Get("Content-Type"), ";"); strings.TrimSpace(strings.ToLower(t)) {
	case "application/json":
		return JSON
	case "application/x-protobuf", "application/protobuf":
		return Protobuf
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) || (body[0] == '\n' && !json.Valid(body)) {
		return Protobuf
	}
	return JSON
}

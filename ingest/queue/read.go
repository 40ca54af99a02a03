package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Read yields the messages from a sequence on (0: from the first there is), then waits for new ones until ctx ends. Any error
// is yielded once and ends the iteration: ctx's, *GapError, *AheadError, ErrSlowConsumer, ErrClosed, or *UnavailableError when
// the stream is gone. A broken connection is no error: reading goes on when it is back. Prefetch is bounded by bytes, so a slow
// loop body slows the reader and nothing else. Close waits for running loop bodies.
func (l *Log) Read(ctx context.Context, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		release, err := l.q.readers.add(cancel)
		if err != nil {
			yield(Message{}, err)
			return
		}
		defer release()
		stop := context.AfterFunc(l.q.ctx, func() { cancel(ErrClosed) })
		defer stop()
		r := &reader{log: l, next: from, yield: yield}
		if err := r.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(Message{}, err)
		}
	}
}

// reader is one running Read. It lives through several consumers: when one breaks or skips, the next starts where the caller is.
type reader struct {
	log   *Log
	next  uint64 // sequence to hand over next; 0: the first there is
	yield func(Message, error) bool
}

var (
	errStopped = errors.New("the loop was left")
	errSkipped = errors.New("the consumer skipped messages") // lost with a connection, or really missing: a new consumer tells
)

func (r *reader) run(ctx context.Context) error {
	for failures := 0; ; failures++ {
		before := r.next
		err := r.session(ctx)
		switch {
		case errors.Is(err, errStopped):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("queue: read %s: %w", r.log.name, context.Cause(ctx))
		case lasting(err):
			return err
		case r.next != before:
			failures = 0
		}
		r.log.q.lg.Warn("reader starts anew", "log", r.log.name, "from", r.next, "err", err)
		if pause(ctx, min(100*time.Millisecond<<min(failures, 10), 5*time.Second)) != nil {
			return fmt.Errorf("queue: read %s: %w", r.log.name, context.Cause(ctx))
		}
	}
}

// lasting tells whether a new consumer would fail in the same way.
func lasting(err error) bool {
	_, gap := errors.AsType[*GapError](err)
	_, ahead := errors.AsType[*AheadError](err)
	return gap || ahead || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrConnectionClosed)
}

// session reads with one consumer until that fails, the loop is left or ctx ends.
func (r *reader) session(ctx context.Context) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	msgs, faults, stop, err := r.log.consume(ctx, r.next)
	if err != nil {
		return err
	}
	defer stop()
	defer cancel() // before stop: lets the consumer's callback go
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-faults:
			return err
		case raw := <-msgs:
			if err := r.deliver(raw, first); err != nil {
				return err
			}
		}
	}
}

// start checks the cursor against the log.
func (r *reader) start(ctx context.Context) error {
	info, err := r.log.Info(ctx)
	switch {
	case err != nil:
		return err
	case r.next == 0:
		r.next = info.First
	case r.next < info.First:
		return &GapError{Log: r.log.name, First: r.next, Last: info.First - 1}
	case r.next > info.Last+1:
		return &AheadError{Log: r.log.name, From: r.next, Last: info.Last}
	}
	return nil
}

// deliver hands one message over if it is the next one. The first message of a consumer proves whether those before it exist.
func (r *reader) deliver(raw jetstream.Msg, first bool) error {
	meta, err := raw.Metadata()
	if err != nil {
		return err
	}
	seq := meta.Sequence.Stream
	switch {
	case seq < r.next:
		return nil
	case seq > r.next && first:
		return &GapError{Log: r.log.name, First: r.next, Last: seq - 1}
	case seq > r.next:
		return errSkipped
	}
	m := newMessage(raw.Headers(), raw.Data())
	m.Seq, m.Stored, m.Pending = seq, meta.Timestamp, meta.NumPending
	if !r.yield(m, nil) {
		return errStopped
	}
	r.next++
	return nil
}

// consume starts a prefetching consumer at a sequence. msgs has no buffer: what is ahead of the reader is bounded by the bytes
// of the pulls alone. faults tells once what the consumer cannot mend itself. stop must be called after ctx has ended.
func (l *Log) consume(ctx context.Context, from uint64) (msgs <-chan jetstream.Msg, faults <-chan error, stop func(), err error) {
	js, err := jetstream.New(l.q.readConn)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("queue: read %s: %w", l.name, err)
	}
	cons, err := js.CreateConsumer(ctx, l.name, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, AckPolicy: jetstream.AckNonePolicy,
		InactiveThreshold: time.Minute, MemoryStorage: true, Replicas: 1,
	})
	if err != nil {
		return nil, nil, nil, l.q.unavailable("read "+l.name, err)
	}
	out, broken := make(chan jetstream.Msg), make(chan error, 1)
	cc, err := cons.Consume(func(m jetstream.Msg) {
		select {
		case out <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxBytes(l.q.pullBytes()), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		l.consumeError(broken, err)
	}))
	if err != nil {
		return nil, nil, nil, l.q.unavailable("read "+l.name, err)
	}
	return out, broken, func() {
		cc.Stop()
		<-cc.Closed()
		l.forget(js, cons.CachedInfo().Name)
	}, nil
}

// consumeError passes on what needs a new consumer. The client itself mends a lost connection and a new leader.
func (l *Log) consumeError(broken chan<- error, err error) {
	l.q.lg.Debug("reader", "log", l.name, "err", err)
	for _, fatal := range []error{jetstream.ErrNoHeartbeat, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound,
		jetstream.ErrBadRequest, jetstream.ErrConnectionClosed, nats.ErrConnectionClosed, nats.ErrNoResponders} {
		if errors.Is(err, fatal) {
			select {
			case broken <- l.q.unavailable("read "+l.name, err):
			default:
			}
			return
		}
	}
}

// forget removes a consumer that is no longer read. Should that fail, the server does it after a minute.
func (l *Log) forget(js jetstream.JetStream, consumer string) {
	if !l.q.readConn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := js.DeleteConsumer(ctx, l.name, consumer); err != nil {
		l.q.lg.Debug("reader: delete consumer", "log", l.name, "err", err)
	}
}

// pullBytes bounds what one reader holds unread. A pull is renewed at half of it, and that half must hold the greatest message.
// Never by count: the client drops what goes beyond 64 MiB.
func (q *Queue) pullBytes() int {
	return max(3*int(q.conn.MaxPayload()), (32<<20)/max(len(q.spans), 1))
}

// readers are the running reads, so that a fault of their connection ends them and Close waits for them.
type readers struct {
	mu     sync.Mutex
	closed bool
	live   map[uint64]context.CancelCauseFunc
	last   uint64
	wg     sync.WaitGroup
}

func (r *readers) add(cancel context.CancelCauseFunc) (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, fmt.Errorf("queue: read: %w", ErrClosed)
	}
	if r.live == nil {
		r.live = map[uint64]context.CancelCauseFunc{}
	}
	r.last++
	id := r.last
	r.live[id] = cancel
	r.wg.Add(1)
	return func() {
		r.mu.Lock()
		delete(r.live, id)
		r.mu.Unlock()
		r.wg.Done()
	}, nil
}

func (r *readers) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cancel := range r.live {
		cancel(err)
	}
}

// wait refuses new readers and waits until the running ones have seen that the queue is closed.
func (r *readers) wait() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
}

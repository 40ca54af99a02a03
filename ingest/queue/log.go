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

// Log is one stream, read by sequence: the reader keeps its own cursor and nothing is acknowledged.
type Log struct {
	q             *Queue
	stream        jetstream.Stream
	name, subject string
}

// Info is the state of a log.
type Info struct {
	First, Last uint64 // sequences; First is Last+1 when the log is empty
	Messages    uint64
	Bytes       int64
	MaxBytes    int64 // full beyond this
}

// Read reads SPANS of a partition; see Log.Read.
func (q *Queue) Read(ctx context.Context, partition int, from uint64) iter.Seq2[Message, error] {
	l, err := q.partition(partition)
	if err != nil {
		return func(yield func(Message, error) bool) { yield(Message{}, err) }
	}
	return l.Read(ctx, from)
}

// Get returns one message of SPANS of a partition; see Log.Get.
func (q *Queue) Get(ctx context.Context, partition int, seq uint64) (Message, error) {
	l, err := q.partition(partition)
	if err != nil {
		return Message{}, err
	}
	return l.Get(ctx, seq)
}

// Info returns the state of SPANS of a partition.
func (q *Queue) Info(ctx context.Context, partition int) (Info, error) {
	l, err := q.partition(partition)
	if err != nil {
		return Info{}, err
	}
	return l.Info(ctx)
}

// Purge removes the messages of SPANS of a partition below a sequence; see Log.Purge.
func (q *Queue) Purge(ctx context.Context, partition int, below uint64) error {
	l, err := q.partition(partition)
	if err != nil {
		return err
	}
	return l.Purge(ctx, below)
}

func (q *Queue) partition(p int) (*Log, error) {
	if p < 0 || p >= len(q.spans) {
		return nil, fmt.Errorf("queue: no partition %d: there are %d", p, len(q.spans))
	}
	return q.spans[p], nil
}

// Append stores one message and returns its sequence. A non-empty id that was appended in the last ten minutes stores nothing
// and returns the first one's sequence. Errors are those of Publish.
func (l *Log) Append(ctx context.Context, id string, data []byte) (uint64, error) {
	return l.append(ctx, id, nil, data)
}

func (l *Log) append(ctx context.Context, id string, h nats.Header, data []byte) (uint64, error) {
	if limit := l.q.MaxBody(); len(data) > limit {
		return 0, &TooLargeError{Size: len(data), Max: limit}
	}
	ctx, cancel := context.WithTimeout(ctx, l.q.opts.PublishTimeout)
	defer cancel()
	opts := []jetstream.PublishOpt{jetstream.WithExpectStream(l.name)}
	if id != "" {
		opts = append(opts, jetstream.WithMsgID(id))
	}
	if h == nil {
		h = nats.Header{}
	}
	ack, err := l.q.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject, Header: h, Data: data}, opts...)
	if err != nil {
		return 0, l.q.storeError("append to "+l.name, l.name, len(data), err)
	}
	return ack.Sequence, nil
}

// Get returns the message of a sequence, or ErrNotFound when it is purged or not yet there.
func (l *Log) Get(ctx context.Context, seq uint64) (Message, error) {
	raw, err := l.stream.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return Message{}, fmt.Errorf("queue: %s: message %d: %w", l.name, seq, ErrNotFound)
	}
	if err != nil {
		return Message{}, l.q.unavailable(fmt.Sprintf("get message %d of %s", seq, l.name), err)
	}
	m := newMessage(raw.Header, raw.Data)
	m.Seq, m.Stored = raw.Sequence, raw.Time
	return m, nil
}

// Info returns the state of the log.
func (l *Log) Info(ctx context.Context) (Info, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return Info{}, l.q.unavailable("state of "+l.name, err)
	}
	s := info.State
	first := s.FirstSeq
	if s.Msgs == 0 {
		first = s.LastSeq + 1
	}
	return Info{First: first, Last: s.LastSeq, Messages: s.Msgs, Bytes: int64(s.Bytes), MaxBytes: info.Config.MaxBytes}, nil
}

// Purge removes all messages with a sequence below the given one. Nothing else ever leaves a log that is not QUARANTINE.
func (l *Log) Purge(ctx context.Context, below uint64) error {
	if below <= 1 {
		return nil
	}
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(below)); err != nil {
		return l.q.unavailable(fmt.Sprintf("purge %s below %d", l.name, below), err)
	}
	return nil
}

// Read yields the messages from a sequence on (0: from the first there is), then waits for new ones until ctx ends. Any error
// is yielded once and ends the iteration: ctx's, *GapError, *AheadError, ErrSlowConsumer, ErrClosed or *UnavailableError. A
// broken connection is no error: reading goes on when it is back. Prefetch is bounded by bytes; a slow loop body only slows
// the reader.
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
		if err := l.read(ctx, cancel, from, yield); err != nil {
			yield(Message{}, err)
		}
	}
}

// read returns nil when the loop body stopped, else why it ended.
func (l *Log) read(ctx context.Context, cancel context.CancelCauseFunc, from uint64, yield func(Message, error) bool) error {
	next, err := l.start(ctx, from)
	if err != nil {
		return err
	}
	msgs, stop, err := l.consume(ctx, cancel, next)
	if err != nil {
		return err
	}
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("queue: read %s: %w", l.name, context.Cause(ctx))
		case raw := <-msgs:
			m, err := readMessage(raw)
			switch {
			case err != nil:
				return fmt.Errorf("queue: read %s: %w", l.name, err)
			case m.Seq != next:
				return &GapError{Log: l.name, First: min(next, m.Seq), Last: max(next, m.Seq) - 1}
			case !yield(m, nil):
				return nil
			}
			next++
		}
	}
}

// start checks the cursor against the log and returns the first sequence to expect.
func (l *Log) start(ctx context.Context, from uint64) (uint64, error) {
	info, err := l.Info(ctx)
	switch {
	case err != nil:
		return 0, err
	case from == 0:
		return info.First, nil
	case from < info.First:
		return 0, &GapError{Log: l.name, First: from, Last: info.First - 1}
	case from > info.Last+1:
		return 0, &AheadError{Log: l.name, From: from, Last: info.Last}
	}
	return from, nil
}

// consume starts a prefetching consumer at a sequence. The channel has no buffer: what is ahead of the reader is bounded by
// the bytes of the pulls alone.
func (l *Log) consume(ctx context.Context, cancel context.CancelCauseFunc, from uint64) (<-chan jetstream.Msg, func(), error) {
	js, err := jetstream.New(l.q.readConn)
	if err != nil {
		return nil, nil, fmt.Errorf("queue: read %s: %w", l.name, err)
	}
	cons, err := js.OrderedConsumer(ctx, l.name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, nil, l.q.unavailable("read "+l.name, err)
	}
	msgs := make(chan jetstream.Msg)
	cc, err := cons.Consume(func(m jetstream.Msg) {
		select {
		case msgs <- m:
		case <-ctx.Done():
		}
	}, jetstream.PullMaxBytes(l.q.pullBytes()), jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		l.consumeError(cancel, err)
	}))
	if err != nil {
		return nil, nil, l.q.unavailable("read "+l.name, err)
	}
	return msgs, func() {
		cancel(nil) // lets the callback go
		cc.Stop()
		<-cc.Closed()
	}, nil
}

// consumeError ends the reader on what cannot mend itself. The consumer mends a lost connection, heartbeat or server.
func (l *Log) consumeError(cancel context.CancelCauseFunc, err error) {
	l.q.lg.Debug("reader", "log", l.name, "err", err)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, jetstream.ErrConnectionClosed) {
		cancel(l.q.unavailable("read "+l.name, err))
	}
}

// pullBytes bounds what one reader holds unread. A pull is renewed at half of it, and that half must hold the greatest message.
// Never by count: the client drops what goes beyond 64 MiB.
func (q *Queue) pullBytes() int {
	return max(3*int(q.conn.MaxPayload()), (32<<20)/max(len(q.spans), 1))
}

func readMessage(raw jetstream.Msg) (Message, error) {
	meta, err := raw.Metadata()
	if err != nil {
		return Message{}, err
	}
	m := newMessage(raw.Headers(), raw.Data())
	m.Seq, m.Stored, m.Pending = meta.Sequence.Stream, meta.Timestamp, meta.NumPending
	return m, nil
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

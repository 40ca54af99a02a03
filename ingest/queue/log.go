package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

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

// Erase overwrites one message on the disk and deletes it, for a person's sake. Sequences are then no longer contiguous there: do it only to what all readers are
// past, or in a log that nobody reads in order. A message that is gone already is no error.
func (l *Log) Erase(ctx context.Context, seq uint64) error {
	err := l.stream.SecureDeleteMsg(ctx, seq)
	if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) && !l.has(ctx, seq) {
		return nil
	}
	return l.q.unavailable(fmt.Sprintf("erase message %d of %s", seq, l.name), err)
}

func (l *Log) has(ctx context.Context, seq uint64) bool {
	_, err := l.stream.GetMsg(ctx, seq)
	return !errors.Is(err, jetstream.ErrMsgNotFound)
}

// Cursor returns the sequence that the reader of that name is to read next, 0 if it never said so.
func (l *Log) Cursor(ctx context.Context, reader string) (uint64, error) {
	e, err := l.q.Cursors.Get(ctx, l.cursorKey(reader))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	next, err := strconv.ParseUint(string(e.Value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("queue: cursor of %s in %s: %w", reader, l.name, err)
	}
	return next, nil
}

// SetCursor stores what Cursor returns. It only moves forward: a smaller one is ignored, so a reader that was replaced by
// another cannot put it back.
func (l *Log) SetCursor(ctx context.Context, reader string, next uint64) error {
	return l.q.Cursors.Update(ctx, l.cursorKey(reader), func(old []byte) ([]byte, error) {
		if have, err := strconv.ParseUint(string(old), 10, 64); err == nil && have >= next {
			return nil, nil
		}
		return strconv.AppendUint(nil, next, 10), nil
	})
}

func (l *Log) cursorKey(reader string) string { return l.name + "/" + reader }

package ratchet

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// maxTogether bounds the verdicts of one message, in bytes.
const maxTogether = 1 << 20

// outbox publishes verdicts. Each message is a sync of the disk, so those that wait while one is on its way go together into the next, one a line.
type outbox struct {
	log  *queue.Log
	turn chan struct{} // holds a token while somebody sends

	mu      sync.Mutex
	waiting []*letter
}

// letter is one verdict on its way.
type letter struct {
	id   string
	doc  []byte
	done chan error // buffered: the sender does not wait for whoever left
}

func newOutbox(log *queue.Log) *outbox { return &outbox{log: log, turn: make(chan struct{}, 1)} }

// publish returns once the verdict is stored. doc is one line. After an error it may or may not have been stored.
func (o *outbox) publish(ctx context.Context, id string, doc []byte) error {
	l := &letter{id, doc, make(chan error, 1)}
	o.mu.Lock()
	o.waiting = append(o.waiting, l)
	o.mu.Unlock()
	for {
		select {
		case err := <-l.done:
			return err
		case o.turn <- struct{}{}:
			o.send(ctx)
			<-o.turn
		case <-ctx.Done():
			o.leave(l)
			return context.Cause(ctx)
		}
	}
}

// send stores what waits, up to a bound, as one message.
func (o *outbox) send(ctx context.Context) {
	batch := o.take()
	if len(batch) == 0 {
		return
	}
	var id string // of several no single one would do: the absorber knows a verdict that comes twice
	var body bytes.Buffer
	for i, l := range batch {
		if i > 0 {
			body.WriteByte('\n')
		}
		body.Write(l.doc)
	}
	if len(batch) == 1 {
		id = batch[0].id
	}
	_, err := o.log.Append(ctx, id, body.Bytes())
	for _, l := range batch {
		l.done <- err
	}
}

func (o *outbox) take() []*letter {
	o.mu.Lock()
	defer o.mu.Unlock()
	size, n := 0, 0
	for n < len(o.waiting) && (n == 0 || size+len(o.waiting[n].doc) < maxTogether) {
		size += len(o.waiting[n].doc) + 1
		n++
	}
	batch := slices.Clone(o.waiting[:n])
	o.waiting = slices.Delete(o.waiting, 0, n)
	return batch
}

func (o *outbox) leave(l *letter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = slices.DeleteFunc(o.waiting, func(w *letter) bool { return w == l })
}

package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Signal is the kind of telemetry in a message.
type Signal string

// The signals that SPANS carries.
const (
	Traces Signal = "traces"
	Logs   Signal = "logs"
)

const (
	headerSignal = "Pawl-Signal"
	headerCuts   = "Pawl-Cuts"
	inMemory     = "memory"
	maxCuts      = 3 << 10 // bytes of header Pawl-Cuts
	keepBuffer   = 1 << 20 // a group buffer greater than this is not kept while idle
)

// Publish stores body, one whole protobuf OTLP request of that signal, in SPANS and returns once it is stored. Bodies that
// wait for the same partition and signal share one message and one sync. An empty body holds nothing and is not stored. body
// is not read after Publish has returned.
//
// Errors: *TooLargeError (never works), *FullError (nothing stored), *UnavailableError (outcome unknown, try again), or
// ctx's own when it ended first (outcome unknown).
func (q *Queue) Publish(ctx context.Context, partition int, s Signal, body []byte) error {
	if partition < 0 || partition >= len(q.publishers) {
		return fmt.Errorf("queue: publish: no partition %d: there are %d", partition, len(q.publishers))
	}
	if s != Traces && s != Logs {
		return fmt.Errorf("queue: publish: unknown signal %q", s)
	}
	if len(body) == 0 {
		return nil
	}
	err := q.publishers[partition].publish(ctx, s, body)
	q.metrics.countRefusal(err)
	return err
}

// waiting counts the bytes of bodies that are not yet answered, over all partitions.
type waiting struct {
	max, now int64
	mu       sync.Mutex
}

// take reserves n bytes. A single body always gets in when nothing else waits.
func (w *waiting) take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now > 0 && w.now+int64(n) > w.max {
		return false
	}
	w.now += int64(n)
	return true
}

func (w *waiting) give(n int) {
	w.mu.Lock()
	w.now -= int64(n)
	w.mu.Unlock()
}

// request is one body on its way into a message.
type request struct {
	signal Signal
	body   []byte
	size   int
	done   chan error // buffered, so that a caller who left does not hold up the group
}

// publisher groups the bodies of one partition. What arrives while a message is in flight goes into the next one: no timer.
type publisher struct {
	q         *Queue
	log       *Log
	partition int
	wake      chan struct{}

	mu      sync.Mutex
	closed  bool
	waiting []*request
	buffer  []byte // the group being sent; owned by run between take and send
}

func (p *publisher) publish(ctx context.Context, s Signal, body []byte) error {
	if limit := p.q.MaxBody(); len(body) > limit {
		return &TooLargeError{Size: len(body), Max: limit}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r := &request{signal: s, body: body, size: len(body), done: make(chan error, 1)}
	if err := p.enqueue(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		p.leave(r)
		return fmt.Errorf("queue: publish: %w", context.Cause(ctx))
	}
}

func (p *publisher) enqueue(r *request) error {
	if !p.q.waiting.take(r.size) {
		return &FullError{What: inMemory, RetryAfter: p.q.opts.RetryAfter}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.q.waiting.give(r.size)
		return &UnavailableError{Op: "publish", RetryAfter: p.q.opts.RetryAfter, Err: ErrClosed}
	}
	p.waiting = append(p.waiting, r)
	p.signal()
	return nil
}

func (p *publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// leave takes back a request whose caller has gone. One already copied into a group stays there: it is stored, nobody is told.
func (p *publisher) leave(r *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, r); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.q.waiting.give(r.size)
	}
}

// close refuses new bodies; run ends once those that wait are answered.
func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.signal()
}

func (p *publisher) run() {
	for range p.wake {
		g, more := p.take()
		for ; len(g) > 0; g, more = p.take() {
			p.answer(g, p.send(g))
		}
		if !more {
			return
		}
	}
}

// take moves the first waiting request and all later ones of its signal that fit into the buffer. The copy is made under the
// lock: after it a caller may leave and use its bytes again. more is false once nothing waits and nothing can come.
func (p *publisher) take() (group []*request, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		if cap(p.buffer) > keepBuffer {
			p.buffer = nil
		}
		return nil, !p.closed
	}
	limit, signal, cuts, full := p.q.MaxBody(), p.waiting[0].signal, 0, false
	p.buffer = p.buffer[:0]
	rest := p.waiting[:0]
	for _, r := range p.waiting {
		if full || r.signal != signal {
			rest = append(rest, r)
			continue
		}
		cuts += len(strconv.Itoa(r.size)) + 1
		if len(group) > 0 && (len(p.buffer)+r.size > limit || cuts > maxCuts) {
			full = true // later ones might fit, but would overtake this one
			rest = append(rest, r)
			continue
		}
		p.buffer = append(p.buffer, r.body...)
		r.body = nil
		group = append(group, r)
	}
	clear(p.waiting[len(rest):])
	p.waiting = rest
	return group, true
}

// send publishes the buffer as one message and waits until it is stored.
func (p *publisher) send(group []*request) error {
	start := time.Now()
	ctx, cancel := context.WithTimeout(p.q.ctx, p.q.opts.PublishTimeout)
	defer cancel()
	cuts := make([]byte, 0, 8*len(group))
	for _, r := range group {
		cuts = append(strconv.AppendInt(cuts, int64(r.size), 10), ',')
	}
	msg := &nats.Msg{Subject: p.log.subject, Data: p.buffer, Header: nats.Header{
		headerSignal: {string(group[0].signal)}, headerCuts: {string(cuts[:len(cuts)-1])},
	}}
	_, err := p.q.js.PublishMsg(ctx, msg, jetstream.WithExpectStream(p.log.name))
	if err != nil {
		return p.q.storeError("publish to "+p.log.name, p.log.name, len(p.buffer), err)
	}
	p.q.metrics.published(group[0].signal, len(group), len(p.buffer), time.Since(start))
	return nil
}

func (p *publisher) answer(group []*request, err error) {
	for _, r := range group {
		p.q.waiting.give(r.size)
		r.done <- err
	}
}

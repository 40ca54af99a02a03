package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// body makes bytes that name themselves and show a tear: an id, then its last digit over and over.
func body(id, size int) []byte {
	b := fmt.Appendf(nil, "<%d>", id)
	return append(b, bytes.Repeat([]byte{'a' + byte(id%26)}, size)...)
}

func checkBody(t *testing.T, b []byte) (id int) {
	t.Helper()
	if _, err := fmt.Sscanf(string(b), "<%d>", &id); err != nil {
		t.Fatalf("torn body %.40q", b)
	}
	if want := body(id, len(b)-bytes.IndexByte(b, '>')-1); !bytes.Equal(b, want) {
		t.Fatalf("torn body %.40q", b)
	}
	return id
}

// TestAcknowledgedBodiesAreReadOnce is the property of the group commit: whatever callers do, each acknowledged body is in the
// stream once and whole, under its signal, and a caller's bodies are in the order in which it handed them over.
func TestAcknowledgedBodiesAreReadOnce(t *testing.T) {
	const callers, each = 24, 60
	q := open(t, Options{Partitions: 2})
	type sent struct {
		signal    Signal
		partition int
		order     int
	}
	var mu sync.Mutex
	acked, offered := map[int]sent{}, map[int]int{}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(c)))
			partition := c % 2
			for i := range each {
				id := c*each + i
				signal := []Signal{Traces, Logs}[rnd.IntN(2)]
				b := body(id, 1+rnd.IntN(8<<10))
				mu.Lock()
				offered[id] = len(b)
				mu.Unlock()
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(3) == 0 { // leave at a random moment
					if rnd.IntN(2) == 0 {
						cancel()
					} else {
						go cancel()
					}
				}
				err := q.Publish(ctx, partition, signal, b)
				cancel()
				clear(b) // a caller may use its bytes again at once
				switch {
				case err == nil:
					mu.Lock()
					acked[id] = sent{signal, partition, i}
					mu.Unlock()
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen, last := map[int]bool{}, map[int]int{}
	for p := range 2 {
		info, err := q.Info(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range q.Read(t.Context(), p, 1) {
			if err != nil {
				t.Fatal(err)
			}
			for r := range m.Requests() {
				id := checkBody(t, r)
				s, ok := acked[id]
				switch {
				case seen[id]:
					t.Fatalf("body %d is stored twice", id)
				case len(r) != offered[id]:
					t.Fatalf("body %d has %d bytes of %d", id, len(r), offered[id])
				case ok && (s.signal != m.Signal || s.partition != p):
					t.Fatalf("body %d is in %s of partition %d, want %+v", id, m.Signal, p, s)
				case ok && s.order < last[id/each]:
					t.Fatalf("body %d comes after number %d of its caller", id, last[id/each])
				}
				seen[id] = true
				if ok {
					last[id/each] = s.order
				}
			}
			if m.Seq == info.Last {
				break
			}
		}
	}
	for id := range acked {
		if !seen[id] {
			t.Fatalf("acknowledged body %d is not stored", id)
		}
	}
	if len(acked) < callers*each/2 || len(acked) == callers*each {
		t.Fatalf("%d of %d acknowledged: the test cancels too much or nothing", len(acked), callers*each)
	}
}

// stall keeps the publisher of partition 0 from taking bodies until go is called, so that what is enqueued shares a message.
func stall(q *Queue) (release func()) {
	q.publishers[0].mu.Lock()
	return q.publishers[0].mu.Unlock
}

// group hands over bodies such that all wait at the same time, and returns their errors.
func group(t *testing.T, q *Queue, signal func(i int) Signal, bodies ...[]byte) []error {
	t.Helper()
	p := q.publishers[0]
	requests := make([]*request, len(bodies))
	release := stall(q)
	for i, b := range bodies {
		requests[i] = &request{signal: signal(i), body: b, size: len(b), done: make(chan error, 1)}
		if !q.waiting.take(len(b)) {
			t.Fatal("no room")
		}
		p.waiting = append(p.waiting, requests[i])
	}
	p.signal()
	release()
	errs := make([]error, len(bodies))
	for i, r := range requests {
		errs[i] = <-r.done
	}
	return errs
}

func traces(int) Signal { return Traces }

func TestGroupIsOneMessage(t *testing.T) {
	reg := prometheus.NewRegistry()
	q := open(t, Options{Registerer: reg})
	var bodies [][]byte
	for i := range 10 {
		bodies = append(bodies, body(i, 100*i+1))
	}
	signal := func(i int) Signal { return []Signal{Traces, Logs}[i%2] }
	if err := errors.Join(group(t, q, signal, bodies...)...); err != nil {
		t.Fatal(err)
	}
	info, err := q.Info(t.Context(), 0)
	if err != nil || info.Messages != 2 {
		t.Fatalf("%+v, %v; want one message per signal", info, err)
	}
	for seq, start := range map[uint64]int{1: 0, 2: 1} {
		m, err := q.Get(t.Context(), 0, seq)
		if err != nil {
			t.Fatal(err)
		}
		if m.Signal != signal(start) || len(m.Cuts) != 5 || m.Stored.IsZero() || m.Seq != seq {
			t.Fatalf("message %d: %+v", seq, m)
		}
		i := start
		for r := range m.Requests() {
			if !bytes.Equal(r, bodies[i]) {
				t.Fatalf("request %d of message %d is %.20q", i, seq, r)
			}
			i += 2
		}
	}
	if got := count(t, q.metrics.requests, "logs"); got != 5 {
		t.Errorf("%v log requests counted", got)
	}
	if got := count(t, q.metrics.messages, "traces"); got != 1 {
		t.Errorf("%v trace messages counted", got)
	}
}

func TestGroupsStayWithinTheLimits(t *testing.T) {
	q := open(t, Options{MaxPayload: 64 << 10})
	var bodies [][]byte
	for i := range 3000 { // small ones: the header is the limit
		bodies = append(bodies, body(i, 5))
	}
	for i := range 20 { // great ones: the payload is
		bodies = append(bodies, body(i, 25<<10))
	}
	bodies = append(bodies, body(1, q.MaxBody()-3))
	if err := errors.Join(group(t, q, traces, bodies...)...); err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(bodies))
	for i, b := range bodies {
		want[i] = string(b)
	}
	if got := readAll(t, q, 0, 1); !slices.Equal(got, want) {
		t.Fatalf("%d bodies read back, not the %d in order", len(got), len(want))
	}
}

func TestBodyTooLarge(t *testing.T) {
	q := open(t, Options{})
	if q.MaxBody() != 8<<20-4<<10 {
		t.Fatalf("max body %d", q.MaxBody())
	}
	if err := q.Publish(t.Context(), 0, Traces, make([]byte, q.MaxBody())); err != nil {
		t.Fatal(err)
	}
	err := q.Publish(t.Context(), 0, Traces, make([]byte, q.MaxBody()+1))
	if e, ok := errors.AsType[*TooLargeError](err); !ok || e.Size != q.MaxBody()+1 || e.Max != q.MaxBody() {
		t.Fatalf("got %v", err)
	}
	if got := count(t, q.metrics.refused, "too_large"); got != 1 {
		t.Errorf("%v counted", got)
	}
}

func TestPublishArguments(t *testing.T) {
	q := open(t, Options{})
	wantError(t, q.Publish(t.Context(), 1, Traces, []byte("x")), "no partition 1")
	wantError(t, q.Publish(t.Context(), -1, Traces, []byte("x")), "no partition -1")
	wantError(t, q.Publish(t.Context(), 0, "metrics", []byte("x")), `signal "metrics"`)
	if err := q.Publish(t.Context(), 0, Logs, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := q.Info(t.Context(), 0); err != nil || info.Messages != 0 || info.First != 1 {
		t.Fatalf("an empty body was stored: %+v, %v", info, err)
	}
}

func TestFullStream(t *testing.T) {
	q := open(t, Options{MaxBytes: 1 << 20, MaxPayload: 256 << 10})
	stored := 0
	var err error
	for ; stored < 100; stored++ {
		if err = q.Publish(t.Context(), 0, Traces, body(stored, 100<<10)); err != nil {
			break
		}
	}
	full, ok := errors.AsType[*FullError](err)
	if !ok || full.What != "PAWL_SPANS_0" || full.RetryAfter <= 0 || stored != 10 {
		t.Fatalf("after %d bodies: %v", stored, err)
	}
	if _, err := q.Flags.Append(t.Context(), "f", []byte("flag")); err != nil {
		t.Fatalf("flags must get in while spans are refused: %v", err)
	}
	if got := count(t, q.metrics.refused, "stream"); got != 1 {
		t.Errorf("%v counted", got)
	}
	if err := q.Purge(t.Context(), 0, 3); err != nil {
		t.Fatal(err)
	}
	if err := q.Publish(t.Context(), 0, Traces, body(99, 100<<10)); err != nil {
		t.Fatalf("no room after a purge: %v", err)
	}
	if got := len(readAll(t, q, 0, 3)); got != 9 {
		t.Fatalf("%d bodies left", got)
	}
}

func waits(q *Queue) int64 {
	q.waiting.mu.Lock()
	defer q.waiting.mu.Unlock()
	return q.waiting.now
}

func TestFullMemory(t *testing.T) {
	q := open(t, Options{MaxWaiting: 100})
	release := stall(q)
	first := make(chan error)
	go func() { first <- q.Publish(t.Context(), 0, Traces, make([]byte, 1000)) }()
	for waits(q) == 0 { // until the first body is counted; it gets in although it is over the limit alone
		runtime.Gosched()
	}
	err := q.Publish(t.Context(), 0, Traces, []byte("x"))
	if full, ok := errors.AsType[*FullError](err); !ok || full.What != "memory" {
		t.Errorf("got %v", err)
	}
	release()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	publish(t, q, strings.Repeat("y", 100))
	if waits(q) != 0 {
		t.Errorf("%d bytes still counted as waiting", waits(q))
	}
}

func TestCancelledBodyIsTakenBack(t *testing.T) {
	q := open(t, Options{})
	p := q.publishers[0]
	r := &request{signal: Traces, body: []byte("gone"), size: 4, done: make(chan error, 1)}
	stays := &request{signal: Traces, body: []byte("stays"), size: 5, done: make(chan error, 1)}
	release := stall(q)
	q.waiting.take(9)
	p.waiting = append(p.waiting, r, stays)
	release()
	p.leave(r)
	p.signal()
	if err := <-stays.done; err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, q, 0, 1); !slices.Equal(got, []string{"stays"}) {
		t.Fatalf("read back %q", got)
	}
	if waits(q) != 0 {
		t.Errorf("%d bytes still counted as waiting", waits(q))
	}
}

func TestCloseAnswersThoseWhoWait(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir})
	var mu sync.Mutex
	var acked []string
	var wg sync.WaitGroup
	started := make(chan struct{}, 64)
	for i := range 64 {
		wg.Go(func() {
			for n := range 1000 {
				b := fmt.Sprintf("%d-%d", i, n)
				if n == 1 {
					started <- struct{}{}
				}
				if err := q.Publish(t.Context(), 0, Traces, []byte(b)); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				acked = append(acked, b)
				mu.Unlock()
			}
		})
	}
	for range 64 {
		<-started
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	got := readAll(t, open(t, Options{Dir: dir}), 0, 1)
	slices.Sort(got)
	slices.Sort(acked)
	if !slices.Equal(got, acked) {
		t.Fatalf("%d stored, %d acknowledged", len(got), len(acked))
	}
}

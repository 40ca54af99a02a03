package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// taken is an Accept that stores into a queue and remembers what came.
type taken struct {
	mu      sync.Mutex
	q       *Queue
	bodies  map[string]int
	encoded map[Encoding]int
	refuse  func(body string, times int) error
	got     chan struct{} // one per call
}

func take(q *Queue) *taken {
	return &taken{q: q, bodies: map[string]int{}, encoded: map[Encoding]int{}, got: make(chan struct{}, 1000)}
}

func (k *taken) accept(ctx context.Context, s Signal, e Encoding, body []byte) error {
	defer func() { k.got <- struct{}{} }()
	k.mu.Lock()
	k.bodies[string(body)]++
	k.encoded[e]++
	times, refuse := k.bodies[string(body)], k.refuse
	k.mu.Unlock()
	if refuse != nil {
		if err := refuse(string(body), times); err != nil {
			return err
		}
	}
	return k.q.Publish(ctx, 0, s, body)
}

func (k *taken) wait(n int) {
	for range n {
		<-k.got
	}
}

// runSource runs a source until the returned func is called, which hands back what RunSource returned.
func runSource(t *testing.T, q *Queue, src Source, accept Accept) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- q.RunSource(ctx, src, accept) }()
	return func() error {
		cancel()
		return <-end
	}
}

func otlpStream(t *testing.T, q *Queue) jetstream.Stream {
	t.Helper()
	s, err := q.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTLP", Subjects: []string{"otlp.>"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t *testing.T, q *Queue, subject string, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		if err := q.conn.Publish(subject, []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Flush itself would leave a timer of the bubble in the client's pool
	defer cancel()
	if err := q.conn.FlushWithContext(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestJetStreamSource stores what is good, offers again what was refused for now, and puts the malformed into quarantine; once
// stopped and started it goes on where it was.
func TestJetStreamSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, Options{})
		stream := otlpStream(t, q)
		k := take(q)
		k.refuse = func(body string, times int) error {
			switch {
			case body == "full" && times == 1:
				return fmt.Errorf("store: %w", &FullError{What: "test", RetryAfter: 7 * time.Second})
			case body == "unavailable" && times == 1:
				return &UnavailableError{Op: "test", RetryAfter: time.Second, Err: errors.New("down")}
			case body == "odd" && times == 1:
				return errors.New("something else")
			case body == "malformed":
				return &MalformedError{Reason: "bad_protobuf", Err: errors.New("cut short")}
			case body == "large":
				return &TooLargeError{Size: 5, Max: 4}
			}
			return nil
		}
		src := Source{JetStream: true, Subject: "otlp.traces", Signal: Traces, Durable: "pawl-test"}
		send(t, q, "otlp.traces", "good", "full", "unavailable", "odd", "malformed", "large")
		send(t, q, "otlp.metrics", "not for us")
		start := time.Now()
		stop := runSource(t, q, src, k.accept)
		k.wait(9)
		if waited := time.Since(start); waited < 7*time.Second || waited > 8*time.Second {
			t.Errorf("the full one came again after %v", waited)
		}
		synctest.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		send(t, q, "otlp.traces", "later")
		stop = runSource(t, q, src, k.accept)
		k.wait(1)
		time.Sleep(10 * time.Minute) // far beyond the ack wait: what is settled does not come again
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"good": 1, "full": 2, "unavailable": 2, "odd": 2, "malformed": 1, "large": 1, "later": 1}
		if !maps.Equal(k.bodies, want) {
			t.Fatalf("came %v, want %v", k.bodies, want)
		}
		stored := readAll(t, q, 0, 1)
		slices.Sort(stored)
		if !slices.Equal(stored, []string{"full", "good", "later", "odd", "unavailable"}) {
			t.Fatalf("stored %q", stored)
		}
		var bad []string
		for _, e := range listQuarantine(t, q) {
			bad = append(bad, e.Reason+" "+string(e.Data)+" "+e.Meta["subject"])
		}
		slices.Sort(bad)
		if !slices.Equal(bad, []string{"bad_protobuf malformed otlp.traces", "too_large large otlp.traces"}) {
			t.Fatalf("quarantine %q", bad)
		}
		cons, err := stream.Consumer(t.Context(), "pawl-test")
		if err != nil {
			t.Fatal(err)
		}
		if info := cons.CachedInfo(); info.NumAckPending != 0 || info.NumPending != 0 {
			t.Fatalf("%d unsettled, %d unread", info.NumAckPending, info.NumPending)
		}
	})
}

// TestJetStreamSourceDiesUnsettled is a source that ends while a body is being stored: the message comes again.
func TestJetStreamSourceDiesUnsettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, Options{})
		otlpStream(t, q)
		send(t, q, "otlp.traces", "a")
		started := make(chan struct{})
		stop := runSource(t, q, Source{JetStream: true, Subject: "otlp.traces", Signal: Traces},
			func(ctx context.Context, _ Signal, _ Encoding, _ []byte) error {
				close(started)
				<-ctx.Done()
				return ctx.Err()
			})
		<-started
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		k := take(q)
		stop = runSource(t, q, Source{JetStream: true, Subject: "otlp.traces", Signal: Traces}, k.accept)
		k.wait(1)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, q, 0, 1); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("stored %q", got)
		}
	})
}

func TestSourceRefused(t *testing.T) {
	q := open(t, Options{})
	stream := otlpStream(t, q)
	if _, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "theirs", AckPolicy: jetstream.AckNonePolicy}); err != nil {
		t.Fatal(err)
	}
	for want, src := range map[string]Source{
		"needs a subject":    {Signal: Traces},
		"and a signal":       {Subject: "otlp.traces", Signal: "metrics"},
		"find the stream":    {Subject: "nowhere", Signal: Traces, JetStream: true},
		"consumer pawl":      {Subject: "otlp.traces", Signal: Traces, JetStream: true, Stream: "NONE"},
		"remove it, or name": {Subject: "otlp.traces", Signal: Traces, JetStream: true, Durable: "theirs"},
		"connect to NATS":    {Subject: "otlp.traces", Signal: Traces, URL: "nats://127.0.0.1:1"},
	} {
		wantError(t, q.RunSource(t.Context(), src, take(q).accept), want)
	}
}

func TestSourceEndsWithItsConsumer(t *testing.T) {
	q := open(t, Options{})
	stream := otlpStream(t, q)
	send(t, q, "otlp.traces", "a")
	end := q.RunSource(t.Context(), Source{JetStream: true, Subject: "otlp.traces", Signal: Traces}, func(context.Context, Signal, Encoding, []byte) error {
		return stream.DeleteConsumer(t.Context(), "pawl")
	})
	wantError(t, end, "otlp.traces", "consumer deleted")
}

// TestCoreSource counts as lost what could not be stored and says so once a minute.
func TestCoreSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, Options{})
		k := take(q)
		k.refuse = func(body string, _ int) error {
			if strings.HasPrefix(body, "lost") {
				return &FullError{What: "test", RetryAfter: time.Second}
			}
			if body == "bad" {
				return &MalformedError{Reason: "bad_json", Err: errors.New("no")}
			}
			return nil
		}
		stop := runSource(t, q, Source{Subject: "otlp.logs", Signal: Logs, Encoding: JSON}, k.accept)
		synctest.Wait()
		send(t, q, "otlp.logs", "a", "lost 1", "bad", "lost 2", "b")
		k.wait(5)
		time.Sleep(2 * time.Minute)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		stored := readAll(t, q, 0, 0)
		slices.Sort(stored)
		if !slices.Equal(stored, []string{"a", "b"}) || k.encoded[JSON] != 5 {
			t.Fatalf("stored %q, encodings %v", stored, k.encoded)
		}
		if lost, got := count(t, q.metrics.lost, "otlp.logs"), count(t, q.metrics.received, "otlp.logs"); lost != 2 || got != 5 {
			t.Errorf("counted %v lost of %v", lost, got)
		}
		if e := listQuarantine(t, q); len(e) != 1 || e[0].Reason != "bad_json" {
			t.Fatalf("quarantine %+v", e)
		}
	})
}

// TestCoreSourceOverflow blocks every slot and sends more than the client buffers. Messages come in order, so once the last one
// is seen each of the others was either handled or dropped.
func TestCoreSourceOverflow(t *testing.T) {
	s := team(t, server.Options{})
	q := open(t, Options{})
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	before := s.NumSubscriptions()
	var handled atomic.Int64
	release, blocked, end := make(chan struct{}), make(chan struct{}, 1000), make(chan struct{}, 1000)
	stop := runSource(t, q, Source{URL: s.ClientURL(), Subject: "otlp", Signal: Traces}, func(_ context.Context, _ Signal, _ Encoding, body []byte) error {
		if string(body) == "end" {
			end <- struct{}{}
			return nil
		}
		blocked <- struct{}{}
		<-release
		handled.Add(1)
		return nil
	})
	for s.NumSubscriptions() == before {
		time.Sleep(time.Millisecond)
	}
	const n = 200
	for i := range n {
		if err := nc.Publish("otlp", body(i, 500<<10)); err != nil {
			t.Fatal(err)
		}
	}
	for range sourceParallel {
		<-blocked
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	close(release)
	ends := 0
	for seen := false; !seen; ends++ { // an end may be dropped too, while the buffer is full
		if err := nc.Publish("otlp", []byte("end")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-end:
			seen = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	missing := n - int(handled.Load())
	if lost := int(count(t, q.metrics.lost, "otlp")); missing == 0 || lost < missing || lost > missing+ends {
		t.Fatalf("%d of %d were not handled, but %d are counted as lost", missing, n, lost)
	}
}

func TestDetect(t *testing.T) {
	header := func(ct string) nats.Header { return nats.Header{"Content-Type": {ct}} }
	for _, c := range []struct {
		encoding Encoding
		header   nats.Header
		body     string
		want     Encoding
	}{
		{Protobuf, nil, "{}", Protobuf},
		{JSON, nil, "\x0a\x02", JSON},
		{Auto, nil, `{"resourceSpans":[]}`, JSON},
		{Auto, nil, " \r\n\t{}", JSON},
		{Auto, nil, "\n{\"resourceSpans\":[]}", JSON},
		{Auto, nil, "\x0a\x7b" + strings.Repeat("x", 123), Protobuf}, // a request of 123 bytes begins like a new line and a brace
		{Auto, nil, "\x0a\x05hello", Protobuf},
		{Auto, nil, "", Protobuf},
		{Auto, header("application/json; charset=utf-8"), "", JSON},
		{Auto, header("Application/JSON"), "", JSON},
		{Auto, header("application/x-protobuf"), "{", Protobuf},
		{Auto, header("text/plain"), "{}", JSON},
	} {
		if got := detect(c.encoding, c.header, []byte(c.body)); got != c.want {
			t.Errorf("detect(%s, %v, %.20q) = %s, want %s", c.encoding, c.header, c.body, got, c.want)
		}
	}
}

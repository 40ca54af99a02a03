package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadFollowsTheLog(t *testing.T) {
	q := open(t, Options{})
	publish(t, q, numbered("old", 5)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	var end error
	for m, err := range q.Read(ctx, 0, 3) {
		if err != nil {
			end = err
			break
		}
		got = append(got, string(m.Data))
		switch m.Seq {
		case 3:
			if m.Pending != 2 {
				t.Errorf("%d pending behind message 3 of 5", m.Pending)
			}
		case 5:
			if m.Pending != 0 {
				t.Errorf("%d pending behind the last", m.Pending)
			}
			publish(t, q, "new")
		case 6:
			cancel()
		}
	}
	if want := []string{"old-2", "old-3", "old-4", "new"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if !errors.Is(end, context.Canceled) {
		t.Fatalf("ended with %v", end)
	}
}

func TestReadMoreThanOnePull(t *testing.T) {
	q := open(t, Options{MaxPayload: 1 << 20, Partitions: 32}) // pulls of 3 MiB
	const n, size = 40, 900 << 10
	for i := range n {
		if err := q.Publish(t.Context(), 7, Traces, body(i, size)); err != nil {
			t.Fatal(err)
		}
	}
	next := 0
	for m, err := range q.Read(t.Context(), 7, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if id := checkBody(t, m.Data); id != next {
			t.Fatalf("got body %d, want %d", id, next)
		}
		if next++; m.Pending == 0 {
			break
		}
	}
	if next != n {
		t.Fatalf("caught up after %d of %d", next, n)
	}
}

// readError reads from a sequence and returns the error that ends it, failing on a message.
func readError(t *testing.T, q *Queue, from uint64) error {
	t.Helper()
	for m, err := range q.Read(t.Context(), 0, from) {
		if err == nil {
			t.Fatalf("read message %d", m.Seq)
		}
		return err
	}
	return nil
}

func TestReadSaysWhatIsMissing(t *testing.T) {
	q := open(t, Options{})
	if e, ok := errors.AsType[*AheadError](readError(t, q, 2)); !ok || e.From != 2 || e.Last != 0 {
		t.Fatalf("cursor beyond an empty log: %v", e)
	}
	publish(t, q, numbered("m", 10)...)
	if e, ok := errors.AsType[*AheadError](readError(t, q, 12)); !ok || e.From != 12 || e.Last != 10 {
		t.Fatalf("cursor beyond the log: %v", e)
	}
	if err := q.Purge(t.Context(), 0, 4); err != nil {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*GapError](readError(t, q, 2)); !ok || e.First != 2 || e.Last != 3 {
		t.Fatalf("cursor below the log: %v", e)
	}
	if err := q.spans[0].stream.DeleteMsg(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for m, err := range q.Read(t.Context(), 0, 4) {
		if e, ok := errors.AsType[*GapError](err); ok && e.First == 6 && e.Last == 6 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, m.Seq)
	}
	if !slices.Equal(seqs, []uint64{4, 5}) {
		t.Fatalf("read %d before the hole", seqs)
	}
	wantError(t, readError(t, q, 6), "messages 6 to 6 are missing")
}

func TestPurgeAndInfo(t *testing.T) {
	q := open(t, Options{})
	publish(t, q, numbered("m", 6)...)
	check := func(want Info) {
		t.Helper()
		got, err := q.Info(t.Context(), 0)
		got.Bytes, want.MaxBytes = 0, 4<<30
		if err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	}
	check(Info{First: 1, Last: 6, Messages: 6})
	for _, below := range []uint64{0, 1} {
		if err := q.Purge(t.Context(), 0, below); err != nil {
			t.Fatal(err)
		}
	}
	check(Info{First: 1, Last: 6, Messages: 6})
	if err := q.Purge(t.Context(), 0, 5); err != nil {
		t.Fatal(err)
	}
	check(Info{First: 5, Last: 6, Messages: 2})
	if _, err := q.Get(t.Context(), 0, 4); !errors.Is(err, ErrNotFound) {
		t.Fatalf("purged message: %v", err)
	}
	if _, err := q.Get(t.Context(), 0, 7); !errors.Is(err, ErrNotFound) {
		t.Fatalf("message to come: %v", err)
	}
	if err := q.Purge(t.Context(), 0, 7); err != nil {
		t.Fatal(err)
	}
	check(Info{First: 7, Last: 6})
	publish(t, q, "next")
	check(Info{First: 7, Last: 7, Messages: 1})
}

func TestReadersEnd(t *testing.T) {
	t.Run("slow consumer", func(t *testing.T) {
		q := open(t, Options{})
		publish(t, q, "a")
		for _, err := range q.Read(t.Context(), 0, 1) {
			if err != nil {
				if !errors.Is(err, ErrSlowConsumer) {
					t.Fatal(err)
				}
				return
			}
			// Another subscription of the readers' connection overflows: the client tells, and whose messages are gone is not certain.
			sub, err := q.readConn.SubscribeSync("flood")
			if err == nil {
				err = errors.Join(sub.SetPendingLimits(1, -1), q.readConn.Flush())
			}
			for range 3 {
				err = errors.Join(err, q.conn.Publish("flood", nil))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("close", func(t *testing.T) {
		q := open(t, Options{})
		publish(t, q, "a")
		started, ended := make(chan struct{}), make(chan error)
		go func() {
			var end error
			for _, end = range q.Read(t.Context(), 0, 1) {
				if end == nil {
					close(started)
				}
			}
			ended <- end
		}()
		<-started
		go q.Close()
		if err := <-ended; !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
	t.Run("stream removed", func(t *testing.T) {
		q := open(t, Options{})
		publish(t, q, "a")
		for m, err := range q.Read(t.Context(), 0, 1) {
			if err != nil {
				return
			}
			if err := q.js.DeleteStream(t.Context(), "PAWL_SPANS_0"); err != nil {
				t.Fatal(m, err)
			}
		}
	})
	t.Run("partition", func(t *testing.T) {
		q := open(t, Options{})
		for _, err := range q.Read(t.Context(), 3, 0) {
			wantError(t, err, "no partition 3")
		}
	})
}

// TestReaderOutlivesTheConnection breaks both connections under a reader and a publisher.
func TestReaderOutlivesTheConnection(t *testing.T) {
	q := open(t, Options{})
	publish(t, q, "1", "2")
	next := uint64(1)
	for m, err := range q.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Seq != next {
			t.Fatalf("read %d, want %d", m.Seq, next)
		}
		if next++; m.Seq == 2 {
			if err := errors.Join(q.readConn.ForceReconnect(), q.conn.ForceReconnect()); err != nil {
				t.Fatal(err)
			}
			for q.Publish(t.Context(), 0, Traces, []byte("3")) != nil { // refused while disconnected
				time.Sleep(time.Millisecond)
			}
		}
		if m.Seq == 3 {
			return
		}
	}
}

func TestAppendWithID(t *testing.T) {
	q := open(t, Options{})
	var seqs []uint64
	for _, id := range []string{"trace-1", "trace-2", "trace-1", "", ""} {
		seq, err := q.Findings.Append(t.Context(), id, []byte("verdict "+id))
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, seq)
	}
	if !slices.Equal(seqs, []uint64{1, 2, 1, 3, 4}) {
		t.Fatalf("sequences %d: an id that is known stores nothing", seqs)
	}
	for m, err := range q.Findings.Read(t.Context(), 2) {
		if err != nil || m.Seq != 2 || m.ID != "trace-2" || string(m.Data) != "verdict trace-2" || m.Signal != "" {
			t.Fatalf("%+v, %v", m, err)
		}
		break
	}
	_, err := q.Findings.Append(t.Context(), "", make([]byte, q.MaxBody()+1))
	if _, ok := errors.AsType[*TooLargeError](err); !ok {
		t.Fatalf("got %v", err)
	}
}

func TestFullFindings(t *testing.T) {
	q := open(t, Options{FindingsMaxBytes: 10 << 10})
	for i := range 100 {
		_, err := q.Findings.Append(t.Context(), fmt.Sprint(i), make([]byte, 3<<10))
		if full, ok := errors.AsType[*FullError](err); ok && full.What == "PAWL_FINDINGS" && i == 3 {
			return
		}
		if err != nil {
			t.Fatalf("verdict %d: %v", i, err)
		}
	}
	t.Fatal("never full")
}

// TestLongIdleReader holds a reader for a day of an idle stream: consumer expiry and heartbeats must not end it or cost a message.
func TestLongIdleReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, Options{})
		publish(t, q, "before")
		var wg sync.WaitGroup
		defer wg.Wait()
		for m, err := range q.Read(t.Context(), 0, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Seq == 2 {
				if got := m.Stored.Sub(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)); got < 0 || got > time.Hour {
					t.Errorf("stored at %v", m.Stored)
				}
				return
			}
			wg.Go(func() {
				time.Sleep(24 * time.Hour)
				publish(t, q, "after")
			})
		}
	})
}

func TestCuts(t *testing.T) {
	for header, want := range map[string][]int{
		"": nil, "10": {10}, "4,6": {4, 6}, "4,5": nil, "4,7": nil, "0,10": nil, "-1,11": nil, "4,,6": nil, "x": nil, "10,": nil,
		"9223372036854775807,10": nil, strings.Repeat("1,", 9) + "1": {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		if got := parseCuts(header, 10); !slices.Equal(got, want) {
			t.Errorf("parseCuts(%q) = %v, want %v", header, got, want)
		}
	}
}

// FuzzCuts: whatever the header says, the requests of a message are its data, cut.
func FuzzCuts(f *testing.F) {
	f.Add("3,4", []byte("abcdefg"))
	f.Add("9999999999999999999", []byte("a"))
	f.Fuzz(func(t *testing.T, header string, data []byte) {
		m := Message{Data: data, Cuts: parseCuts(header, len(data))}
		var all []byte
		for r := range m.Requests() {
			all = append(all, r...)
		}
		if string(all) != string(data) {
			t.Fatalf("cuts %q lose bytes", header)
		}
	})
}

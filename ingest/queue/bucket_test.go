package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBucket(t *testing.T) {
	q := open(t, Options{})
	b, ctx := q.Groups, t.Context()
	if _, err := b.Get(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("absent key: %v", err)
	}
	if err := b.Create(ctx, "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := b.Create(ctx, "a", []byte("2")); !errors.Is(err, ErrExists) {
		t.Fatalf("second create: %v", err)
	}
	keep := func([]byte) ([]byte, error) { return nil, nil }
	if err := b.Update(ctx, "a", keep); err != nil {
		t.Fatal(err)
	}
	refuse := errors.New("refused")
	if err := b.Update(ctx, "a", func([]byte) ([]byte, error) { return nil, refuse }); !errors.Is(err, refuse) {
		t.Fatalf("error of change: %v", err)
	}
	if e, err := b.Get(ctx, "a"); err != nil || string(e.Value) != "1" {
		t.Fatalf("%q, %v", e.Value, err)
	}
	for range 2 {
		if err := b.Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Update(ctx, "a", func(old []byte) ([]byte, error) { return fmt.Appendf(old, "new"), nil }); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Get(ctx, "a"); err != nil || string(e.Value) != "new" {
		t.Fatalf("after delete and update: %q, %v", e.Value, err)
	}
}

func TestBucketLimits(t *testing.T) {
	q := open(t, Options{})
	ctx := t.Context()
	big := make([]byte, MaxValue+1)
	for _, err := range []error{
		q.Groups.Create(ctx, "k", big),
		q.Groups.Update(ctx, "k", func([]byte) ([]byte, error) { return big, nil }),
	} {
		if e, ok := errors.AsType[*TooLargeError](err); !ok || e.Max != MaxValue {
			t.Fatalf("got %v", err)
		}
	}
	if err := q.Groups.Create(ctx, "k", big[:MaxValue]); err != nil {
		t.Fatal(err)
	}
	wantError(t, q.Groups.Create(ctx, "", nil), "empty")
	wantError(t, q.Groups.Create(ctx, strings.Repeat("é", 300), nil), "use a digest")
}

// TestUpdateLosesNothing has many writers add to one value.
func TestUpdateLosesNothing(t *testing.T) {
	const writers, each = 8, 10
	q := open(t, Options{})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := q.Groups.Update(t.Context(), "sum", func(old []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(old))
					return strconv.AppendInt(nil, int64(n)+1, 10), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if e, err := q.Groups.Get(t.Context(), "sum"); err != nil || string(e.Value) != strconv.Itoa(writers*each) {
		t.Fatalf("%s, %v", e.Value, err)
	}
}

func TestBucketAll(t *testing.T) {
	q := open(t, Options{})
	want := map[string]string{"loop|get_order": "1", "..": "2", "a b*>": "3", "ключ": "4"}
	for k, v := range want {
		if err := q.Aliases.Create(t.Context(), k, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(q.Aliases.Create(t.Context(), "gone", nil), q.Aliases.Delete(t.Context(), "gone")); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for e, err := range q.Aliases.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Key] = string(e.Value)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	for range q.Batches.All(t.Context()) {
		t.Fatal("an empty bucket has an entry")
	}
	if _, err := q.Aliases.kv.Put(t.Context(), "not.ours", nil); err != nil {
		t.Fatal(err)
	}
	var end error
	for _, end = range q.Aliases.All(t.Context()) {
	}
	wantError(t, end, "not written by pawl")
}

// FuzzKey: an escaped key is legal for the client and comes back as it was, and no two keys share an escape.
func FuzzKey(f *testing.F) {
	for _, k := range []string{"a", ".", "a..b", "=2e", "loop/v1|tools=[x]", "\x00\xff", "é"} {
		f.Add(k)
	}
	f.Fuzz(func(t *testing.T, key string) {
		escaped, err := escapeKey(key)
		if err != nil {
			if key == "" || len(key)*3 > maxKey {
				return
			}
			t.Fatal(err)
		}
		if strings.Trim(escaped, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=") != "" {
			t.Fatalf("%q is not legal", escaped)
		}
		if again, err := unescapeKey(escaped); err != nil || again != key {
			t.Fatalf("%q comes back as %q, %v", key, again, err)
		}
		if back, err := unescapeKey(key); err == nil { // key may itself be an escape: then of one key only
			if again, err := escapeKey(back); err != nil || again != key {
				t.Fatalf("%q and %q are both escapes of %q", key, again, back)
			}
		}
	})
}

func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := open(t, Options{})
		ctx := t.Context()
		first, err := q.Lease(ctx, "absorb", "ana", 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Lease(ctx, "absorb", "bob", 10*time.Second)
		if held, ok := errors.AsType[*HeldError](err); !ok || held.Owner != "ana" {
			t.Fatalf("second owner: %v", err)
		}
		for range 5 { // renewing holds it for longer than its time
			time.Sleep(7 * time.Second)
			if err := first.Renew(ctx); err != nil {
				t.Fatal(err)
			}
		}
		again, err := q.Lease(ctx, "absorb", "ana", 10*time.Second)
		if err != nil {
			t.Fatalf("the owner itself, started anew: %v", err)
		}
		if err := first.Renew(ctx); !errors.Is(err, ErrLeaseLost) {
			t.Fatalf("the former self: %v", err)
		}
		time.Sleep(30 * time.Second)
		if err := again.Renew(ctx); !errors.Is(err, ErrLeaseLost) {
			t.Fatalf("a lease that ran out: %v", err)
		}
		bob, err := q.Lease(ctx, "absorb", "bob", 10*time.Second)
		if err != nil {
			t.Fatalf("after it ran out: %v", err)
		}
		if err := again.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Lease(ctx, "absorb", "ana", time.Second); err == nil {
			t.Fatal("releasing a lost lease freed another's")
		}
		if err := bob.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Lease(ctx, "absorb", "ana", time.Second); err != nil {
			t.Fatalf("after its release: %v", err)
		}
		_, err = q.Lease(ctx, "absorb", "", time.Millisecond)
		wantError(t, err, "needs an owner")
	})
}

func TestObjects(t *testing.T) {
	q := open(t, Options{})
	ctx := t.Context()
	data := bytes.Repeat([]byte("trace "), 100_000)
	digest, err := q.Objects.Put(ctx, data)
	if err != nil || digest != Digest(data) {
		t.Fatalf("%s, %v", digest, err)
	}
	before, err := q.Objects.store.GetInfo(ctx, digest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Objects.Put(ctx, data); err != nil {
		t.Fatal(err)
	}
	if after, err := q.Objects.store.GetInfo(ctx, digest); err != nil || after.NUID != before.NUID {
		t.Fatalf("put again though it was there: %v", err)
	}
	if got, err := q.Objects.Get(ctx, digest); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if _, err := q.Objects.store.PutBytes(ctx, digest, []byte("forged")); err != nil {
		t.Fatal(err)
	}
	_, err = q.Objects.Get(ctx, digest)
	wantError(t, err, "damaged")
	for range 2 {
		if err := q.Objects.Delete(ctx, digest); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Objects.Get(ctx, digest); !errors.Is(err, ErrNotFound) {
		t.Fatalf("deleted object: %v", err)
	}
	if empty, err := q.Objects.Put(ctx, nil); err != nil {
		t.Fatal(err)
	} else if got, err := q.Objects.Get(ctx, empty); err != nil || len(got) != 0 {
		t.Fatalf("empty object: %q, %v", got, err)
	}
}

func listQuarantine(t *testing.T, q *Queue) (out []Quarantined) {
	t.Helper()
	for e, err := range q.ListQuarantine(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func TestQuarantine(t *testing.T) {
	q := open(t, Options{MaxPayload: 64 << 10})
	if got := listQuarantine(t, q); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	meta := map[string]string{"from": "10.0.0.1\r\nX: y", "bad": "\xff", "long": strings.Repeat("z", 5000)}
	big := make([]byte, 200<<10)
	if err := errors.Join(
		q.Quarantine(t.Context(), "bad_protobuf", meta, []byte("bytes")),
		q.Quarantine(t.Context(), "Not A Label", nil, big),
	); err != nil {
		t.Fatal(err)
	}
	got := listQuarantine(t, q)
	if len(got) != 2 || got[0].Reason != "bad_protobuf" || string(got[0].Data) != "bytes" || got[0].Size != 5 || got[0].Seq != 1 || got[0].Stored.IsZero() {
		t.Fatalf("%+v", got)
	}
	if m := got[0].Meta; m["from"] != meta["from"] || m["bad"] != "�" || len(m["long"]) != maxMetaValue {
		t.Fatalf("meta %q", m)
	}
	if got[1].Reason != "other" || got[1].Size != len(big) || len(got[1].Data) != q.MaxBody() {
		t.Fatalf("%s, %d of %d bytes", got[1].Reason, len(got[1].Data), got[1].Size)
	}
	if n := count(t, q.metrics.quarantined, "bad_protobuf"); n != 1 {
		t.Errorf("%v counted", n)
	}
}

func TestQuarantineDropsItsOldest(t *testing.T) {
	q := open(t, Options{QuarantineMaxBytes: 10 << 10})
	for i := range 20 {
		if err := q.Quarantine(t.Context(), "bad", nil, body(i, 2<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.quarantine.stream.DeleteMsg(t.Context(), 18); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, e := range listQuarantine(t, q) {
		ids = append(ids, checkBody(t, e.Data))
	}
	if !slices.Equal(ids, []int{16, 18, 19}) {
		t.Fatalf("left over: %d", ids)
	}
}

func TestCursor(t *testing.T) {
	dir := t.TempDir()
	q := open(t, Options{Dir: dir})
	if next, err := q.Findings.Cursor(t.Context(), "absorb"); next != 0 || err != nil {
		t.Fatalf("%d, %v at first", next, err)
	}
	for _, next := range []uint64{3, 9, 5} {
		if err := q.Findings.SetCursor(t.Context(), "absorb", next); err != nil {
			t.Fatal(err)
		}
	}
	q.Close()
	q = open(t, Options{Dir: dir})
	if next, err := q.Findings.Cursor(t.Context(), "absorb"); next != 9 || err != nil {
		t.Fatalf("%d, %v after reopening", next, err)
	}
	if next, err := q.Flags.Cursor(t.Context(), "absorb"); next != 0 || err != nil {
		t.Fatalf("%d, %v of another log", next, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Findings.SetCursor(ctx, "absorb", 10); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled update: %v", err)
	}
	if err := q.Cursors.Update(t.Context(), "PAWL_FINDINGS/absorb", func([]byte) ([]byte, error) { return []byte("x"), nil }); err != nil {
		t.Fatal(err)
	}
	_, err := q.Findings.Cursor(t.Context(), "absorb")
	wantError(t, err, "cursor of absorb")
}

// TestSessionsExpire holds that the server lets go of a session's value that nobody changes any more, and of no other bucket's. That it does so at its
// time is the server's own promise: its clock for it runs outside of synctest.
func TestSessionsExpire(t *testing.T) {
	q := open(t, Options{})
	for b, want := range map[*Bucket]time.Duration{q.Sessions: KeepSessions, q.Groups: 0, q.Batches: 0, q.Cursors: 0} {
		if s, err := b.kv.Status(t.Context()); err != nil || s.TTL() != want || s.History() != 1 {
			t.Errorf("%s: kept for %s, %v, want %s since the last change", b.name, s.TTL(), err, want)
		}
	}
}

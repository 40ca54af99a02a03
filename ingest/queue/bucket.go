package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// MaxValue is the greatest value of a bucket in bytes. What is bigger belongs into Objects.
	MaxValue = 64 << 10
	maxTries = 64
)

// Bucket is a key-value bucket whose values change by compare-and-set only. Keys may be any non-empty text up to 256 bytes or so:
// they are escaped.
type Bucket struct {
	q    *Queue
	kv   jetstream.KeyValue
	name string
}

// Entry is one key with its value.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Get returns the entry of a key, or ErrNotFound.
func (b *Bucket) Get(ctx context.Context, key string) (Entry, error) {
	k, err := escapeKey(key)
	if err != nil {
		return Entry{}, b.fail("get", key, err)
	}
	e, err := b.kv.Get(ctx, k)
	if err != nil {
		return Entry{}, b.fail("get", key, err)
	}
	return Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

// Create sets a key that is absent, or returns ErrExists.
func (b *Bucket) Create(ctx context.Context, key string, value []byte) error {
	k, err := checkEntry(key, value)
	if err == nil {
		_, err = b.kv.Create(ctx, k, value)
	}
	return b.fail("create", key, err)
}

// Update sets a key to what change makes of its value: old is nil when the key is absent; a nil result leaves the key as it
// is, and an error of change is returned as it is. When another writer comes first, change is called again on the newer value.
// After an *UnavailableError the write may have happened: change must give the same value when applied twice.
func (b *Bucket) Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error {
	for try := range maxTries {
		done, err := b.tryUpdate(ctx, key, change)
		if done || err != nil {
			return err
		}
		if err := pause(ctx, rand.N(time.Millisecond<<min(try, 6))); err != nil {
			return b.fail("update", key, err)
		}
	}
	return b.fail("update", key, ErrConflict)
}

func (b *Bucket) tryUpdate(ctx context.Context, key string, change func([]byte) ([]byte, error)) (done bool, err error) {
	old, err := b.Get(ctx, key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, err
	}
	value, err := change(old.Value)
	if err != nil || value == nil {
		return true, err
	}
	k, err := checkEntry(key, value)
	if err != nil {
		return false, b.fail("update", key, err)
	}
	if old.Revision == 0 {
		_, err = b.kv.Create(ctx, k, value)
	} else {
		_, err = b.kv.Update(ctx, k, value, old.Revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || isWrongSequence(err) {
		return false, nil
	}
	return true, b.fail("update", key, err)
}

// Delete removes a key; one that is absent is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	k, err := escapeKey(key)
	if err == nil {
		err = b.kv.Purge(ctx, k)
	}
	return b.fail("delete", key, err)
}

// All iterates over the entries in the order of their last change. An error ends the iteration.
func (b *Bucket) All(ctx context.Context) iter.Seq2[Entry, error] { return b.watch(ctx, false) }

// Watch iterates over the entries in the order of their last change, and then over every change as it comes, until ctx ends or an error does: then
// Watch again. An Entry without a Key says that all that was there has been seen. A deleted or expired entry has no Value.
func (b *Bucket) Watch(ctx context.Context) iter.Seq2[Entry, error] { return b.watch(ctx, true) }

func (b *Bucket) watch(ctx context.Context, on bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var opts []jetstream.WatchOpt
		if !on {
			opts = append(opts, jetstream.IgnoreDeletes())
		}
		w, err := b.kv.WatchAll(ctx, opts...)
		if err != nil {
			yield(Entry{}, b.fail("list", "", err))
			return
		}
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				yield(Entry{}, b.fail("list", "", ctx.Err()))
				return
			case e, open := <-w.Updates():
				if !open {
					yield(Entry{}, b.fail("list", "", ErrClosed))
					return
				}
				if e == nil { // all that was there has been seen
					if !on || !yield(Entry{}, nil) {
						return
					}
					continue
				}
				key, err := unescapeKey(e.Key())
				if !yield(Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, b.fail("list", e.Key(), err)) || err != nil {
					return
				}
			}
		}
	}
}

func checkEntry(key string, value []byte) (string, error) {
	if len(value) > MaxValue {
		return "", &TooLargeError{Size: len(value), Max: MaxValue}
	}
	return escapeKey(key)
}

// isWrongSequence tells a lost race from other errors; clusters have a code of their own for it.
func isWrongSequence(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == codeWrongSequenceReplicated)
}

const codeWrongSequenceReplicated jetstream.ErrorCode = 10164

// fail wraps an error with the operation and key, and gives it one of our types.
func (b *Bucket) fail(op, key string, err error) error {
	what := fmt.Sprintf("%s %s/%s", op, b.name, key)
	tooLarge, isTooLarge := errors.AsType[*TooLargeError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		err = ErrNotFound
	case errors.Is(err, jetstream.ErrKeyExists):
		err = ErrExists
	case isTooLarge:
		err = tooLarge
	case errors.Is(err, ErrConflict), errors.Is(err, errKey):
	default:
		return b.q.unavailable(what, err)
	}
	return fmt.Errorf("queue: %s: %w", what, err)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

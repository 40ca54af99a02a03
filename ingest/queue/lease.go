package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Lease is the right to do a job alone for a while. It is politeness only: two holders are possible for a moment, so
// correctness must rest on something else. Renew it at a third of its time.
type Lease struct {
	b           *Bucket
	name, owner string
	ttl         time.Duration
	mu          sync.Mutex
	revision    uint64
}

// HeldError says that another owner holds the lease.
type HeldError struct{ Name, Owner string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("queue: lease %s is held by %s", e.Name, e.Owner)
}

// Lease takes a lease for ttl (whole seconds, at least one), or returns *HeldError. Its own owner gets it again at once, so an
// owner that starts anew under its old name need not wait.
func (q *Queue) Lease(ctx context.Context, name, owner string, ttl time.Duration) (*Lease, error) {
	if owner == "" || ttl < time.Second {
		return nil, fmt.Errorf("queue: lease %s: needs an owner and a time of at least a second", name)
	}
	l := &Lease{b: q.leases, name: name, owner: owner, ttl: ttl.Truncate(time.Second)}
	held, err := q.leases.Get(ctx, name)
	switch {
	case errors.Is(err, ErrNotFound):
		return l, l.create(ctx)
	case err != nil:
		return nil, err
	case string(held.Value) != owner:
		return nil, &HeldError{Name: name, Owner: string(held.Value)}
	}
	l.revision = held.Revision
	return l, l.Renew(ctx)
}

func (l *Lease) create(ctx context.Context) (err error) {
	key, err := checkEntry(l.name, []byte(l.owner))
	if err != nil {
		return l.b.fail("lease", l.name, err)
	}
	l.revision, err = l.b.kv.Create(ctx, key, []byte(l.owner), jetstream.KeyTTL(l.ttl))
	if errors.Is(err, jetstream.ErrKeyExists) {
		return &HeldError{Name: l.name, Owner: "another, who came first"}
	}
	return l.b.fail("lease", l.name, err)
}

// Renew starts the lease's time anew, or returns ErrLeaseLost.
func (l *Lease) Renew(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, err := escapeKey(l.name)
	if err != nil {
		return l.b.fail("renew lease", l.name, err)
	}
	// The client's own Update of a key would drop its time to live, so this is the write that it stands for.
	ack, err := l.b.q.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + l.b.name + "." + key, Data: []byte(l.owner), Header: nats.Header{}},
		jetstream.WithExpectLastSequencePerSubject(l.revision), jetstream.WithMsgTTL(l.ttl))
	if isWrongSequence(err) {
		return fmt.Errorf("queue: lease %s: %w", l.name, ErrLeaseLost)
	}
	if err != nil {
		return l.b.fail("renew lease", l.name, err)
	}
	l.revision = ack.Sequence
	return nil
}

// Release gives the lease back; one that is lost already is no error.
func (l *Lease) Release(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, err := escapeKey(l.name)
	if err == nil {
		err = l.b.kv.Delete(ctx, key, jetstream.LastRevision(l.revision))
	}
	if isWrongSequence(err) {
		return nil
	}
	return l.b.fail("release lease", l.name, err)
}

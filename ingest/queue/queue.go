package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	defaultMaxPayload = 8 << 20
	headerReserve     = 4 << 10 // what a message's headers may take of the payload limit
)

// Options of Open. Zero values mean the defaults named here.
type Options struct {
	// Dir is the directory of the embedded server, created with mode 0700. Used when URL is empty.
	Dir string
	// URL of the team's NATS server or cluster, several separated by commas.
	URL string
	// Access to the server at URL.
	Access Access
	// Prefix of all names: letters, digits, - and _; default "pawl".
	Prefix string
	// Partitions of SPANS. 0 takes what exists, else 1 embedded and 64 by URL. A number that differs from what exists is an error.
	Partitions int
	// Replicas of each stream by URL; default 3 in a cluster, 1 on a lone server. Only used when a stream is made.
	Replicas int
	// MaxBytes of SPANS over all partitions; default 4 GiB. 0 leaves an existing stream as it is.
	MaxBytes int64
	// FindingsMaxBytes, FlagsMaxBytes, AuditMaxBytes and QuarantineMaxBytes bound the other streams: 1 GiB, 64 MiB, 1 GiB, 256 MiB.
	FindingsMaxBytes, FlagsMaxBytes, AuditMaxBytes, QuarantineMaxBytes int64
	// MaxPayload is the greatest message of the embedded server; default 8 MiB. By URL the server says.
	MaxPayload int
	// MaxWaiting bounds the bytes of bodies that wait in memory for their group commit; default 64 MiB.
	MaxWaiting int64
	// PublishTimeout bounds one publish; default 10 s.
	PublishTimeout time.Duration
	// RetryAfter is what a refused caller is told; default 5 s.
	RetryAfter time.Duration
	// Registerer of the metrics; nil keeps them private.
	Registerer prometheus.Registerer
}

// Queue is an open set of streams, buckets and objects. Its fields are set by Open and not to be changed. All methods are safe
// for concurrent use.
type Queue struct {
	Findings, Flags, Audit                                 *Log
	Groups, Batches, Aliases, Cursors, Baselines, Services *Bucket
	Repos                                                  *Bucket // what is known of the repositories that pull requests go to
	Sessions                                               *Bucket // each value for KeepSessions after its last change
	Flagged, Deliveries                                    *Bucket // each value for KeepFlags after its last change
	Judgements                                             *Bucket // what a model was asked, what it said, and what that cost
	Objects                                                *Objects
	lg                                                     *slog.Logger
	opts                                                   Options
	ctx                                                    context.Context // ends with Close
	cancel                                                 context.CancelFunc
	unlock                                                 func() error
	srv                                                    *server.Server // nil by URL
	conn, readConn                                         *nats.Conn
	js                                                     jetstream.JetStream // on conn
	spans                                                  []*Log
	quarantine                                             *Log
	leases                                                 *Bucket
	publishers                                             []*publisher
	loops                                                  sync.WaitGroup
	waiting                                                waiting
	readers                                                readers
	metrics                                                *metrics
	closeOnce                                              sync.Once
	closeErr                                               error
}

var validPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// withDefaults fills the zero values that do not depend on the server, and checks the rest.
func (o Options) withDefaults() (Options, error) {
	if (o.Dir == "") == (o.URL == "") {
		return o, errors.New("queue: give either a directory (embedded) or a URL, not both")
	}
	o.Prefix = orDefault(o.Prefix, "pawl")
	o.MaxPayload = orDefault(o.MaxPayload, defaultMaxPayload)
	o.MaxWaiting = orDefault(o.MaxWaiting, 64<<20)
	o.PublishTimeout = orDefault(o.PublishTimeout, 10*time.Second)
	o.RetryAfter = orDefault(o.RetryAfter, 5*time.Second)
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	switch {
	case !validPrefix.MatchString(o.Prefix):
		return o, fmt.Errorf("queue: prefix %q: use up to 32 letters, digits, - or _", o.Prefix)
	case o.Partitions < 0 || o.Partitions > 1024:
		return o, fmt.Errorf("queue: %d partitions: use 1 to 1024", o.Partitions)
	case o.MaxPayload < 64<<10 || o.MaxPayload > 64<<20:
		return o, fmt.Errorf("queue: max payload of %d bytes: use 64 KiB to 64 MiB", o.MaxPayload)
	case min(o.MaxBytes, o.FindingsMaxBytes, o.FlagsMaxBytes, o.AuditMaxBytes, o.QuarantineMaxBytes, o.MaxWaiting) < 0:
		return o, errors.New("queue: a size limit is negative")
	}
	return o, nil
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Open starts the embedded server or connects to the one at URL, and makes what streams, buckets and objects are missing. What
// exists is kept; a setting of it that would break what this package promises is an error that names it. ctx bounds Open only.
func Open(ctx context.Context, lg *slog.Logger, o Options) (*Queue, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	q := &Queue{lg: lg.With("component", "queue"), opts: o, unlock: func() error { return nil }}
	q.waiting.max = o.MaxWaiting
	q.ctx, q.cancel = context.WithCancel(context.Background())
	if err := q.open(ctx); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

func (q *Queue) open(ctx context.Context) (err error) {
	if q.metrics, err = newMetrics(q.opts.Registerer); err != nil {
		return err
	}
	if q.opts.URL == "" {
		if err := q.startServer(); err != nil {
			return err
		}
	}
	if err := q.connect(); err != nil {
		return err
	}
	if err := q.ensureAll(ctx); err != nil {
		return err
	}
	for p, l := range q.spans {
		pub := &publisher{q: q, log: l, partition: p, wake: make(chan struct{}, 1)}
		q.publishers = append(q.publishers, pub)
		q.loops.Go(pub.run)
	}
	return nil
}

// Close stores what bodies still wait, ends all readers, and stops the embedded server. It is idempotent.
func (q *Queue) Close() error {
	q.closeOnce.Do(func() { q.closeErr = q.close() })
	return q.closeErr
}

func (q *Queue) close() error {
	for _, p := range q.publishers {
		p.close()
	}
	q.loops.Wait()
	q.cancel()
	q.readers.wait()
	for _, c := range []*nats.Conn{q.readConn, q.conn} {
		if c != nil {
			c.Close()
		}
	}
	if q.srv != nil {
		q.srv.Shutdown()
		q.srv.WaitForShutdown()
	}
	q.metrics.unregister()
	return q.unlock()
}

// Partitions returns the number of partitions of SPANS.
func (q *Queue) Partitions() int { return len(q.spans) }

// MaxBody returns the greatest body in bytes that Publish, Append and Quarantine take whole.
func (q *Queue) MaxBody() int { return int(q.conn.MaxPayload()) - headerReserve }

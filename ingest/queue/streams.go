package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

// metaPartitions is the stream metadata that fixes the number of partitions, so that a crash between making two of them is mended.
const metaPartitions = "pawl-partitions"

// dedupWindow is how long a message id is remembered.
const dedupWindow = 10 * time.Minute

// ensureAll makes what is missing and checks what exists.
func (q *Queue) ensureAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := q.ensureSpans(ctx); err != nil {
		return err
	}
	for _, s := range []struct {
		log      **Log
		name     string
		wish     int64
		maxBytes int64
		discard  jetstream.DiscardPolicy
	}{
		{&q.Findings, "findings", q.opts.FindingsMaxBytes, 1 << 30, jetstream.DiscardNew},
		{&q.Flags, "flags", q.opts.FlagsMaxBytes, 64 << 20, jetstream.DiscardNew},
		{&q.Audit, "audit", q.opts.AuditMaxBytes, 1 << 30, jetstream.DiscardNew},
		{&q.quarantine, "quarantine", q.opts.QuarantineMaxBytes, 256 << 20, jetstream.DiscardOld},
	} {
		cfg := q.streamConfig(s.name, orDefault(s.wish, s.maxBytes), s.discard)
		log, err := q.ensureStream(ctx, cfg, s.wish != 0)
		if err != nil {
			return err
		}
		*s.log = log
	}
	return q.ensureBuckets(ctx)
}

// ensureSpans makes or opens one stream per partition.
func (q *Queue) ensureSpans(ctx context.Context) error {
	exist, err := q.existingPartitions(ctx)
	if err != nil {
		return err
	}
	n := q.opts.Partitions
	switch {
	case exist != 0 && n != 0 && n != exist:
		return fmt.Errorf("queue: %d partitions wanted, but the streams %s_* were made with %d, which is fixed: leave the number unset, or use another prefix",
			n, q.streamName("spans"), exist)
	case exist != 0:
		n = exist
	case n == 0 && q.srv != nil:
		n = 1
	case n == 0:
		n = 64
	}
	q.spans = make([]*Log, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for p := range n {
		g.Go(func() error {
			cfg := q.streamConfig("spans."+strconv.Itoa(p), orDefault(q.opts.MaxBytes, 4<<30)/int64(n), jetstream.DiscardNew)
			cfg.Metadata = map[string]string{metaPartitions: strconv.Itoa(n)}
			l, err := q.ensureStream(ctx, cfg, q.opts.MaxBytes != 0)
			q.spans[p] = l
			return err
		})
	}
	return g.Wait()
}

// existingPartitions returns the number that the existing streams were made with, 0 without any.
func (q *Queue) existingPartitions(ctx context.Context) (int, error) {
	streams := q.js.ListStreams(ctx, jetstream.WithStreamListSubject(q.opts.Prefix+".spans.*"))
	n := 0
	for info := range streams.Info() {
		if !strings.HasPrefix(info.Config.Name, q.streamName("spans")+"_") {
			continue
		}
		p, err := strconv.Atoi(info.Config.Metadata[metaPartitions])
		if err != nil || p < 1 || (n != 0 && p != n) {
			return 0, fmt.Errorf("queue: stream %s was not made by pawl, or its metadata %s is damaged: use another prefix, or remove it", info.Config.Name, metaPartitions)
		}
		n = p
	}
	if err := streams.Err(); err != nil {
		return 0, fmt.Errorf("queue: list streams: %w%s", err, jetStreamHint(err))
	}
	return n, nil
}

// jetStreamHint says what to do about a server without JetStream.
func jetStreamHint(err error) string {
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) || errors.Is(err, nats.ErrNoResponders) {
		return ": enable JetStream on that server, for this account"
	}
	return ""
}

// streamName gives the name of the stream of a subject: spans.3 -> PAWL_SPANS_3.
func (q *Queue) streamName(subject string) string {
	return strings.ToUpper(q.opts.Prefix + "_" + strings.ReplaceAll(subject, ".", "_"))
}

func (q *Queue) streamConfig(subject string, maxBytes int64, discard jetstream.DiscardPolicy) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: q.streamName(subject), Subjects: []string{q.opts.Prefix + "." + subject},
		Retention: jetstream.LimitsPolicy, Discard: discard, Storage: jetstream.FileStorage,
		MaxBytes: max(maxBytes, 1), MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		Duplicates: dedupWindow, Replicas: q.replicas(),
	}
}

// replicas returns what a new stream gets: 3 in a cluster unless told otherwise.
func (q *Queue) replicas() int {
	switch {
	case q.opts.Replicas != 0:
		return q.opts.Replicas
	case q.conn.ConnectedClusterName() != "":
		return 3
	}
	return 1
}

// ensureStream opens or makes one stream. resize asks for an existing stream to get the new MaxBytes.
func (q *Queue) ensureStream(ctx context.Context, want jetstream.StreamConfig, resize bool) (*Log, error) {
	s, err := q.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: stream %s: %w%s", want.Name, err, jetStreamHint(err))
	}
	have := s.CachedInfo().Config
	if diff := streamFaults(have, want); len(diff) > 0 {
		return nil, fmt.Errorf("queue: stream %s would lose or misplace data: %s: change it on the server, or use another prefix",
			want.Name, strings.Join(diff, "; "))
	}
	if resize && have.MaxBytes != want.MaxBytes {
		have.MaxBytes = want.MaxBytes
		if s, err = q.js.UpdateStream(ctx, have); err != nil {
			return nil, fmt.Errorf("queue: stream %s: set max bytes to %d: %w", want.Name, want.MaxBytes, err)
		}
	}
	return &Log{q: q, stream: s, name: want.Name, subject: want.Subjects[0]}, nil
}

// streamFaults names the settings of a stream that break what this package promises.
func streamFaults(have, want jetstream.StreamConfig) (faults []string) {
	check := func(ok bool, what string, have, want any) {
		if !ok {
			faults = append(faults, fmt.Sprintf("%s is %v, must be %v", what, have, want))
		}
	}
	check(slices.Equal(have.Subjects, want.Subjects), "subjects", have.Subjects, want.Subjects)
	check(have.Retention == want.Retention, "retention", have.Retention, want.Retention)
	check(have.Discard == want.Discard, "discard", have.Discard, want.Discard)
	check(have.Storage == want.Storage, "storage", have.Storage, want.Storage)
	check(have.MaxAge == 0, "max age", have.MaxAge, "none")
	check(have.MaxMsgs <= 0, "max messages", have.MaxMsgs, "none")
	check(have.MaxMsgsPerSubject <= 0, "max messages per subject", have.MaxMsgsPerSubject, "none")
	check(have.MaxMsgSize <= 0, "max message size", have.MaxMsgSize, "none")
	check(have.Mirror == nil && len(have.Sources) == 0, "mirror or sources", "set", "none")
	check(!have.Sealed && !have.DenyPurge, "sealed or deny purge", true, false)
	check(!have.NoAck, "no ack", true, false)
	return faults
}

const (
	// KeepSessions is how long the Sessions bucket keeps a value that nobody changes.
	KeepSessions = 24 * time.Hour
	// KeepFlags is how long the Flagged and Deliveries buckets do. Nobody sends a webhook again after so long.
	KeepFlags = 7 * 24 * time.Hour
)

// ensureBuckets makes or opens the key-value buckets and the object store.
func (q *Queue) ensureBuckets(ctx context.Context) error {
	for _, b := range []struct {
		bucket **Bucket
		name   string
		ttl    time.Duration // of the marker that an expired key leaves; 0: keys do not expire
		age    time.Duration // since its last change at which any key expires; 0: never
	}{
		{&q.Groups, "groups", 0, 0}, {&q.Batches, "batches", 0, 0}, {&q.Aliases, "aliases", 0, 0}, {&q.Cursors, "cursors", 0, 0},
		{&q.Baselines, "baselines", 0, 0}, {&q.Services, "services", 0, 0}, {&q.Repos, "repos", 0, 0}, {&q.Sessions, "sessions", 0, KeepSessions},
		{&q.Judgements, "judgements", 0, 0}, {&q.Flagged, "flagged", 0, KeepFlags}, {&q.Deliveries, "deliveries", 0, KeepFlags},
		{&q.leases, "leases", time.Minute, 0},
	} {
		name := q.opts.Prefix + "_" + b.name
		kv, err := q.js.KeyValue(ctx, name)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			kv, err = q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: name, History: 1, Storage: jetstream.FileStorage, Replicas: q.replicas(), LimitMarkerTTL: b.ttl, TTL: b.age,
			})
		}
		if err != nil {
			return fmt.Errorf("queue: bucket %s: %w", name, err)
		}
		*b.bucket = &Bucket{q: q, kv: kv, name: name}
	}
	name := q.opts.Prefix + "_objects"
	store, err := q.js.ObjectStore(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		store, err = q.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Storage: jetstream.FileStorage, Replicas: q.replicas()})
	}
	if err != nil {
		return fmt.Errorf("queue: object store %s: %w", name, err)
	}
	q.Objects = &Objects{q: q, store: store}
	return nil
}

package assemble

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Apply puts what a message holds into the store and moves the cursor behind it. Messages must come in order; one that was applied before changes
// nothing. What cannot be read goes to quarantine, request by request: the others of the same message are kept. After an error the same message
// may be applied again.
func (s *Store) Apply(ctx context.Context, m queue.Message) error {
	if err := s.apply(ctx, m); err != nil {
		clear(s.contexts) // some may not have been stored
		return fmt.Errorf("assemble: message %d: %w", m.Seq, err)
	}
	s.note()
	return nil
}

func (s *Store) apply(ctx context.Context, m queue.Message) error {
	arrivals, err := s.sort(ctx, m)
	if err != nil {
		return err
	}
	clock := s.clock
	clock.hear(m.Stored)
	if err := s.roll(clock.stored); err != nil {
		return err
	}
	a := applying{Store: s, seq: m.Seq, at: clock.stored, now: clock.now(), again: m.Seq <= s.again, seen: map[string]bool{}, batch: batch{g: s.newest()}}
	defer a.discard()
	for _, v := range arrivals {
		if err := a.arrive(v); err != nil {
			return fmt.Errorf("trace %s: %w", v.trace, err)
		}
	}
	next := cursor{m.Seq, identify(m), clock.stored, clock.heard}
	if err := errors.Join(next.put(&a.batch), a.commit()); err != nil {
		return err
	}
	s.cursor, s.clock = next, clock
	return nil
}

// arrival is what a message brought of one trace.
type arrival struct {
	trace   traceID
	records []record
}

// sort reads a message's requests and gathers their records by trace, in the order in which they came.
func (s *Store) sort(ctx context.Context, m queue.Message) (out []*arrival, err error) {
	at := map[traceID]*arrival{}
	for body := range m.Requests() {
		records, err := s.read(m.Signal, body)
		if err != nil {
			meta := map[string]string{"error": err.Error(), "signal": string(m.Signal), "sequence": strconv.FormatUint(m.Seq, 10)}
			if err := s.quarantine(ctx, "malformed_request", meta, body); err != nil {
				return nil, err
			}
			continue
		}
		for _, r := range records {
			v := at[r.trace]
			if v == nil {
				v = &arrival{trace: r.trace}
				at[r.trace], out = v, append(out, v)
			}
			v.records = append(v.records, r)
		}
	}
	return out, nil
}

// read cuts a request into its records. The receivers let nothing else into the stream than what passes the filter, others may.
func (s *Store) read(signal queue.Signal, body []byte) ([]record, error) {
	form, err := wireSignal(signal)
	if err != nil {
		return nil, err
	}
	body, report, err := s.filter.Apply(form, body)
	if err != nil {
		return nil, err
	}
	records, unplaced, err := split(form, body)
	s.metrics.unplaced.Add(float64(unplaced + report.Untraced + report.Rejected.Count))
	return records, err
}

func wireSignal(s queue.Signal) (wire.Signal, error) {
	switch s {
	case queue.Traces:
		return wire.Traces, nil
	case queue.Logs:
		return wire.Logs, nil
	}
	return 0, fmt.Errorf("unknown signal %q", s)
}

func (s *Store) quarantine(ctx context.Context, reason string, meta map[string]string, data []byte) error {
	if err := s.o.Quarantine(ctx, reason, meta, data); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	s.metrics.quarantined.WithLabelValues(reason).Inc()
	return nil
}

// applying is one message on its way into the newest generation.
type applying struct {
	*Store
	batch
	seq   uint64
	at    time.Time
	now   instant
	again bool            // a power cut may have damaged what is there
	seen  map[string]bool // keys put for new traces
}

// arrive puts a trace's records and its header. What a transaction cannot hold goes into the next one, with the header as it is by then.
func (a *applying) arrive(v *arrival) error {
	h, err := a.findHeader(v.trace)
	if err != nil {
		return err
	}
	was, news := h, false
	for _, r := range v.records {
		added, err := a.record(&h, r)
		if err != nil {
			return err
		}
		if news = news || added; !a.full() {
			continue
		}
		if err := errors.Join(a.header(v.trace, &h, was, news), a.commit()); err != nil {
			return err
		}
		was, news = h, false
	}
	return a.header(v.trace, &h, was, news)
}

// header writes what has become of a trace's header. A trace that was complete waits again once something new came.
func (a *applying) header(t traceID, h *header, was header, news bool) error {
	if !news && h.Full == was.Full {
		return nil
	}
	if news {
		h.touch(a.seq, a.at, a.now)
	}
	if !was.Waiting && news {
		a.waiting++
		if was.Revision != "" {
			a.metrics.reopened.Inc()
		}
	}
	// An entry that comes too early is moved when its time comes: most messages need not touch the index.
	if due := h.dueAt(a.o); news && !h.Waiting || h.Waiting && due < h.Due {
		h.Waiting, h.Due = true, due
	}
	return h.put(&a.batch, t, was)
}

// record puts one record, unless it is there, and says whether it is new.
func (a *applying) record(h *header, r record) (added bool, err error) {
	key := r.key()
	known, err := a.known(h, key, r)
	if err != nil {
		return false, err
	}
	if known {
		a.metrics.duplicates.Inc()
		return false, nil
	}
	if h.Spans >= a.o.MaxSpans || h.Bytes+int64(len(r.bytes)) > a.o.MaxBytes {
		h.Full = true
		a.metrics.overflow.Inc()
		return false, nil
	}
	if err := a.put(key, r); err != nil {
		return false, err
	}
	a.metrics.records.Inc()
	h.Root = h.Root || r.root
	h.Spans++
	h.Bytes += int64(len(r.bytes))
	return true, nil
}

func (a *applying) put(key []byte, r record) error {
	if !a.contexts[r.context] {
		if err := a.set(contextKey(r.context), seal(r.around)); err != nil {
			return err
		}
		if len(a.contexts) >= maxContexts {
			clear(a.contexts)
		}
		a.contexts[r.context] = true
	}
	return a.set(key, r.stored.seal())
}

const maxContexts = 4096

// known says whether the record is there already. Of a log record the earliest position that it had in a request is kept.
func (a *applying) known(h *header, key []byte, r record) (bool, error) {
	if h.First.IsZero() { // a new trace: only this message can hold a copy
		if !a.seen[string(key)] {
			a.seen[string(key)] = true
			return false, nil
		}
		return a.knownIn(a.open(), key, r)
	}
	for _, g := range a.since(h.First) {
		if g == a.g {
			return a.knownIn(a.open(), key, r)
		}
		var found bool
		err := g.use(a.lg, func(db *badger.DB) error {
			return db.View(func(txn *badger.Txn) (err error) {
				found, err = a.knownIn(txn, key, r)
				return err
			})
		})
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (a *applying) knownIn(txn *badger.Txn, key []byte, r record) (bool, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if r.signal == spanSignal && !a.again {
		return true, nil
	}
	v, err := item.ValueCopy(nil)
	if err != nil {
		return false, nil // damaged: it is put anew
	}
	have, err := unsealRecord(v)
	if err != nil {
		return false, nil
	}
	if r.signal == logSignal && r.before(have) {
		return true, a.put(key, r)
	}
	return true, nil
}

package assemble

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/pawl-dev/pawl/ingest/queue"
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Apply puts what a message holds into the store and moves the cursor behind it. Messages must come in order; one that was applied before changes
// nothing. What cannot be read goes to quarantine, request by request: the others of the same message are kept.
func (s *Store) Apply(ctx context.Context, m queue.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.roll(later(m.Stored, s.stream)); err != nil {
		return fmt.Errorf("assemble: message %d: %w", m.Seq, err)
	}
	next := cursor{s.cursor.Epoch, m.Seq, digestHex(m.Data)}
	a := applying{Store: s, next: next, at: m.Stored, db: s.newest().db, headers: map[traceID]*header{}}
	for req := range m.Requests() {
		if err := a.request(ctx, m.Signal, req); err != nil {
			return fmt.Errorf("assemble: message %d: %w", m.Seq, err)
		}
	}
	if err := a.finish(); err != nil {
		return fmt.Errorf("assemble: message %d: %w", m.Seq, err)
	}
	s.cursor, s.stream = next, later(m.Stored, s.stream)
	return nil
}

func digestHex(b []byte) string { d := digestOf(b); return fmt.Sprintf("%x", d[:]) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// applying is one message on its way into the newest generation.
type applying struct {
	*Store
	next    cursor // where the store stands when the message is in
	at      time.Time
	db      *badger.DB
	txn     *badger.Txn
	headers map[traceID]*header
}

// set puts a key into the running transaction and begins another one when that is full.
func (a *applying) set(k, v []byte) error {
	return a.write(func(txn *badger.Txn) error { return txn.Set(k, v) })
}

func (a *applying) delete(k []byte) error {
	return a.write(func(txn *badger.Txn) error { return txn.Delete(k) })
}

func (a *applying) write(do func(*badger.Txn) error) error {
	if a.txn == nil {
		a.txn = a.db.NewTransaction(true)
	}
	err := do(a.txn)
	if !errors.Is(err, badger.ErrTxnTooBig) {
		return err
	}
	if err := a.commit(); err != nil {
		return err
	}
	a.txn = a.db.NewTransaction(true)
	return do(a.txn)
}

func (a *applying) commit() error {
	if a.txn == nil {
		return nil
	}
	err := a.txn.Commit()
	a.txn = nil
	return err
}

// request applies one sender's request. Malformed, it is quarantined whole: the receivers refuse such bodies, so this one came another way.
func (a *applying) request(ctx context.Context, signal queue.Signal, body []byte) error {
	records, without, err := split(signal, body)
	if err == nil && signal != queue.Traces && signal != queue.Logs {
		err = fmt.Errorf("unknown signal %q", signal)
	}
	if err != nil {
		a.metrics.quarantined.Inc()
		return a.o.Quarantine(ctx, "malformed request", map[string]string{"error": err.Error(), "signal": string(signal), "sequence": strconv.FormatUint(a.next.Seq, 10)}, body)
	}
	a.metrics.unplaced.Add(float64(without))
	for _, r := range records {
		if err := a.record(signal, r); err != nil {
			return err
		}
	}
	return nil
}

// record puts one record and counts it in its trace's header, which is written at the end of the message.
func (a *applying) record(signal queue.Signal, r record) error {
	h, err := a.header(r.trace)
	if err != nil {
		return err
	}
	key := recordKey(r.trace, signal[0], r.span, digestOf(r.bytes))
	known, err := a.known(key)
	if err != nil {
		return err
	}
	again := h.saw(a.next) // the message was applied before: put everything again, a power cut may have taken it, but count nothing
	if !known && !again && (h.Spans >= a.o.MaxSpans || h.Bytes+int64(len(r.bytes)) > a.o.MaxBytes) {
		h.Truncated = true
		a.metrics.overflow.Inc()
		return nil
	}
	ctx := digestOf(r.context)
	if err := a.context(ctx, r.context); err != nil {
		return err
	}
	if err := a.set(key, sealValue(ctx, r.bytes)); err != nil {
		return err
	}
	h.Root = h.Root || r.root
	if again || known {
		a.metrics.duplicates.Inc()
		return nil
	}
	h.Spans++
	h.Bytes += int64(len(r.bytes))
	a.metrics.records.Inc()
	return nil
}

// known says whether a live generation holds the record.
func (a *applying) known(key []byte) (bool, error) {
	if a.txn != nil {
		_, err := a.txn.Get(key)
		if err == nil || !errors.Is(err, badger.ErrKeyNotFound) {
			return err == nil, err
		}
	}
	for _, g := range slices.Backward(a.live()) {
		if found, err := has(g.db, key); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// header finds the trace's header in the live generations, newest first, or makes one.
func (a *applying) header(t traceID) (*header, error) {
	if h := a.headers[t]; h != nil {
		return h, nil
	}
	h, err := a.findHeader(t)
	if err != nil {
		return nil, err
	}
	if h == nil {
		h = &header{}
	}
	a.headers[t] = h
	return h, nil
}

func (s *Store) findHeader(t traceID) (h *header, err error) {
	for _, g := range slices.Backward(s.live()) {
		err = g.db.View(func(txn *badger.Txn) error {
			h, err = getHeader(txn, t)
			return err
		})
		if h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

// context stores what a record stands under, once per generation as far as memory remembers.
func (a *applying) context(d digest, context []byte) error {
	if a.contexts[d] {
		return nil
	}
	if err := a.set(contextKey(d), sealValue(d, context)); err != nil {
		return err
	}
	if len(a.contexts) >= maxContexts {
		clear(a.contexts)
	}
	a.contexts[d] = true
	return nil
}

const maxContexts = 4096

// finish writes the headers with their index entries, and last of all the cursor.
func (a *applying) finish() error {
	if err := a.commit(); err != nil {
		return err
	}
	for _, t := range slices.SortedFunc(maps.Keys(a.headers), func(x, y traceID) int { return slices.Compare(x[:], y[:]) }) {
		if h := a.headers[t]; !h.saw(a.next) {
			if err := a.touch(t, h); err != nil {
				return err
			}
		}
	}
	if err := putJSON(a.set, cursorKey, a.next); err != nil {
		return err
	}
	return a.commit()
}

// touch notes that the message brought something of the trace, and opens it if it was complete.
func (a *applying) touch(t traceID, h *header) error {
	if !h.open() {
		if h.Revision != "" {
			a.metrics.reopened.Inc()
		}
		h.OpenSeq, h.Opened, h.Tries = a.next.Seq, a.at, 0
		if err := a.set(openKey(a.next.Seq, t), nil); err != nil {
			return err
		}
	}
	h.Epoch, h.LastSeq, h.Last = a.next.Epoch, a.next.Seq, later(a.at, h.Last)
	due := h.due(a.o)
	// An entry that comes too early is moved when its time comes: most messages need not touch the index.
	if h.Due.IsZero() || due.Before(h.Due) {
		if !h.Due.IsZero() {
			if err := a.delete(dueKey(h.Due, t)); err != nil {
				return err
			}
		}
		h.Due = due
		if err := a.set(dueKey(due, t), nil); err != nil {
			return err
		}
	}
	return putJSON(a.set, headerKey(t), h)
}

// sealValue frames a value: crc(4) context(16) bytes.
func sealValue(context digest, b []byte) []byte {
	v := make([]byte, 4, 4+len(context)+len(b))
	v = append(append(v, context[:]...), b...)
	sum := crc32.Checksum(v[4:], crcTable)
	v[0], v[1], v[2], v[3] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
	return v
}

// openValue checks and splits a value.
func openValue(v []byte) (context digest, b []byte, ok bool) {
	if len(v) < 4+len(context) {
		return context, nil, false
	}
	sum := uint32(v[0])<<24 | uint32(v[1])<<16 | uint32(v[2])<<8 | uint32(v[3])
	copy(context[:], v[4:])
	return context, v[4+len(context):], crc32.Checksum(v[4:], crcTable) == sum
}

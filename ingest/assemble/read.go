package assemble

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// rawTrace is a trace as it lies in the store.
type rawTrace struct {
	keys     [][]byte
	revision string
	traces   []byte // one OTLP request with all spans
	logs     []byte // one OTLP request with all log records
}

// readRaw gathers a trace's records from the live generations. A value that fails its checksum is quarantined and left out.
func (s *Store) readRaw(ctx context.Context, t traceID) (rawTrace, error) {
	return s.gather(ctx, t, s.live())
}

func (s *Store) gather(ctx context.Context, t traceID, gens []*generation) (rawTrace, error) {
	type bodies struct {
		signal  byte
		context []byte
		bytes   [][]byte
	}
	var raw rawTrace
	var digests [][]byte
	var order []*bodies
	groups := map[string]*bodies{} // by signal and context
	seen := map[string]bool{}
	for _, g := range gens {
		err := g.db.View(func(txn *badger.Txn) error {
			it := txn.NewIterator(badger.IteratorOptions{Prefix: recordPrefix(t), PrefetchValues: true, PrefetchSize: 64})
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				key := it.Item().KeyCopy(nil)
				if len(key) != recordKeyLen || seen[string(key)] {
					continue
				}
				v, err := it.Item().ValueCopy(nil)
				if err != nil {
					return fmt.Errorf("value: %w", err)
				}
				ctxDigest, b, ok := openValue(v)
				if !ok {
					if err := s.damaged(ctx, t, v); err != nil {
						return err
					}
					continue
				}
				group := string(key[17]) + string(ctxDigest[:])
				at := groups[group]
				if at == nil {
					c, err := s.readContext(ctxDigest, gens)
					if err != nil {
						return err
					}
					at = &bodies{signal: key[17], context: c}
					groups[group], order = at, append(order, at)
				}
				at.bytes = append(at.bytes, b)
				seen[string(key)] = true
				raw.keys = append(raw.keys, key)
				digests = append(digests, key[17:])
			}
			return nil
		})
		if err != nil {
			return raw, err
		}
	}
	for _, at := range order {
		req, err := request(at.context, at.bytes)
		if err != nil {
			return raw, err
		}
		if at.signal == 't' {
			raw.traces = append(raw.traces, req...)
		} else {
			raw.logs = append(raw.logs, req...)
		}
	}
	slices.SortFunc(digests, slices.Compare)
	raw.revision = digestHex(slices.Concat(digests...))
	return raw, nil
}

func (s *Store) readContext(d digest, gens []*generation) (context []byte, err error) {
	for _, g := range slices.Backward(gens) {
		err = g.db.View(func(txn *badger.Txn) error {
			item, err := txn.Get(contextKey(d))
			if err != nil {
				return err
			}
			return item.Value(func(v []byte) error {
				_, b, ok := openValue(v)
				if !ok {
					return errors.New("the stored resource of a span is damaged")
				}
				context = slices.Clone(b)
				return nil
			})
		})
		if !errors.Is(err, badger.ErrKeyNotFound) {
			return context, err
		}
	}
	return nil, fmt.Errorf("the resource of a span is not stored: %w", err)
}

func (s *Store) damaged(ctx context.Context, t traceID, v []byte) error {
	s.metrics.quarantined.Inc()
	return s.o.Quarantine(ctx, "stored value is damaged", map[string]string{"trace": t.String()}, v)
}

// decode turns the raw trace into the form that the normaliser takes.
func (r rawTrace) decode(t traceID, truncated bool) (trajectory.Trace, error) {
	td, _, err := wire.Decode(wire.Traces, r.traces)
	if err != nil {
		return trajectory.Trace{}, err
	}
	ld, _, err := wire.Decode(wire.Logs, r.logs)
	if err != nil {
		return trajectory.Trace{}, err
	}
	traces := trajectory.FromOTLP([]ptrace.Traces{td.Traces}, []plog.Logs{ld.Logs})
	if len(traces) == 0 {
		return trajectory.Trace{ID: t.String(), Truncated: truncated}, nil
	}
	traces[0].Truncated = traces[0].Truncated || truncated
	return traces[0], nil
}

// ErrNotFound says that the store holds no trace of that id.
var ErrNotFound = errors.New("no such trace")

// Get returns a kept trace, complete or not, however old.
func (s *Store) Get(ctx context.Context, id string) (trajectory.Trace, error) {
	t, err := parseTraceID(id)
	if err != nil {
		return trajectory.Trace{}, fmt.Errorf("%w: %v", ErrNotFound, err)
	}
	s.mu.Lock() // old generations are opened and closed again
	defer s.mu.Unlock()
	gens, closeOld, err := s.everyGeneration()
	defer closeOld()
	if err != nil {
		return trajectory.Trace{}, err
	}
	raw, err := s.gather(ctx, t, gens)
	if err != nil {
		return trajectory.Trace{}, err
	}
	if len(raw.keys) == 0 {
		return trajectory.Trace{}, ErrNotFound
	}
	h, err := s.findHeader(t)
	return orTrace(raw, t, h, err)
}

func orTrace(raw rawTrace, t traceID, h *header, err error) (trajectory.Trace, error) {
	if err != nil {
		return trajectory.Trace{}, err
	}
	return raw.decode(t, h != nil && h.Truncated)
}

// everyGeneration opens all generations; closeOld closes those again that no live trace can reach.
func (s *Store) everyGeneration() (gens []*generation, closeOld func(), err error) {
	var opened []*generation
	closeOld = func() {
		for _, g := range opened {
			if err := g.close(); err != nil {
				s.lg.Warn("close generation", "dir", g.dir, "err", err)
			}
		}
	}
	for _, g := range s.gens {
		if g.db == nil {
			if err := s.openGeneration(g); err != nil {
				return nil, closeOld, err
			}
			opened = append(opened, g)
		}
	}
	return s.gens, closeOld, nil
}

// Kept is a trace in the list of Recent.
type Kept struct {
	ID   string
	Last time.Time // stream time of its latest record
	Open bool
}

// Recent lists the traces of the live generations, in no order.
func (s *Store) Recent() iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		seen := map[traceID]bool{}
		for _, g := range slices.Backward(s.live()) {
			err := g.db.View(func(txn *badger.Txn) error { return listHeaders(txn, seen, yield) })
			if errors.Is(err, errStop) {
				return
			}
			if err != nil {
				yield(Kept{}, err)
				return
			}
		}
	}
}

var errStop = errors.New("stop")

func listHeaders(txn *badger.Txn, seen map[traceID]bool, yield func(Kept, error) bool) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte("h")})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		var t traceID
		copy(t[:], it.Item().Key()[1:])
		h, err := getHeader(txn, t)
		if err != nil {
			return err
		}
		if seen[t] || h.Dropped {
			continue
		}
		seen[t] = true
		if !yield(Kept{t.String(), h.Last, h.open()}, nil) {
			return errStop
		}
	}
	return nil
}

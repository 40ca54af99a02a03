package assemble

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Raw is a trace as it is kept.
type Raw struct {
	Traces    []byte // one OTLP request in protobuf with all spans, every version of them
	Logs      []byte // one with all log records
	Truncated bool   // records of it were left out at a limit or dropped

	revision string
	keys     [][]byte
	damaged  []damage
}

// damage is a record that cannot be read any more.
type damage struct {
	key, value []byte
	what       string
}

// kept is a record as it was read.
type kept struct {
	stored
	key    []byte
	around []byte
}

// gather reads a trace's records. The same records give the same bytes.
func gather(lg *slog.Logger, t traceID, gens []*generation) (Raw, error) {
	g := gathering{at: map[string]int{}, contexts: map[digest][]byte{}}
	for _, gen := range gens {
		err := gen.use(lg, func(db *badger.DB) error { return db.View(func(txn *badger.Txn) error { return g.generation(txn, t) }) })
		if err != nil {
			return Raw{}, err
		}
	}
	return g.raw()
}

type gathering struct {
	records  []kept
	at       map[string]int // by key
	contexts map[digest][]byte
	damaged  []damage
}

func (g *gathering) generation(txn *badger.Txn, t traceID) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: recordPrefix(t), PrefetchValues: true, PrefetchSize: 64})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().KeyCopy(nil)
		if len(key) != recordKeyLen {
			continue
		}
		value, err := it.Item().ValueCopy(nil)
		if errors.Is(err, badger.ErrDBClosed) {
			return err
		}
		r, why := g.record(txn, key, value, err)
		if why != "" {
			g.damaged = append(g.damaged, damage{key, value, why})
			continue
		}
		g.add(r)
	}
	return nil
}

// record checks what was read; why says what is wrong with it.
func (g *gathering) record(txn *badger.Txn, key, value []byte, failed error) (r kept, why string) {
	if failed != nil {
		return r, failed.Error()
	}
	s, err := unsealRecord(value)
	if err != nil {
		return r, err.Error()
	}
	around, err := g.context(txn, s.context)
	if err != nil {
		return r, "its resource and scope: " + err.Error()
	}
	return kept{s, key, around}, ""
}

func (g *gathering) context(txn *badger.Txn, d digest) ([]byte, error) {
	if c, ok := g.contexts[d]; ok {
		return c, nil
	}
	v, err := getValue(txn, contextKey(d))
	if err != nil {
		return nil, err
	}
	c, err := unseal(v)
	if err != nil {
		return nil, err
	}
	if _, _, err := splitContext(c); err != nil {
		return nil, err
	}
	g.contexts[d] = c
	return c, nil
}

// add takes a record once, though several generations may hold it.
func (g *gathering) add(r kept) {
	i, ok := g.at[string(r.key)]
	switch {
	case !ok:
		g.at[string(r.key)] = len(g.records)
		g.records = append(g.records, r)
	case r.before(g.records[i].stored):
		g.records[i] = r
	}
}

func (g *gathering) raw() (Raw, error) {
	raw := Raw{keys: make([][]byte, len(g.records))}
	for i, r := range g.records {
		raw.keys[i] = r.key
	}
	slices.SortFunc(raw.keys, bytes.Compare)
	ids := make([][]byte, len(raw.keys))
	for i, k := range raw.keys {
		ids[i] = k[signalAt:]
	}
	raw.revision = digestOf(ids...).String()
	for _, d := range g.damaged {
		if _, whole := g.at[string(d.key)]; !whole { // another generation may have it
			raw.damaged = append(raw.damaged, d)
		}
	}
	slices.SortFunc(g.records, compareKept)
	var err error
	for first, next := 0, 0; first < len(g.records); first = next {
		var run [][]byte
		r := g.records[first]
		for next = first; next < len(g.records) && g.records[next].sharesRequest(r); next++ {
			run = append(run, g.records[next].bytes)
		}
		if r.key[signalAt] == spanSignal {
			raw.Traces, err = appendRequest(raw.Traces, r.around, run)
		} else {
			raw.Logs, err = appendRequest(raw.Logs, r.around, run)
		}
		if err != nil {
			return raw, err
		}
	}
	return raw, nil
}

// compareKept puts log records into the order of their requests, on which the meaning of those with one time rests, and spans by what they stand under.
func compareKept(a, b kept) int {
	signal := cmp.Compare(a.key[signalAt], b.key[signalAt])
	context := bytes.Compare(a.context[:], b.context[:])
	if a.key[signalAt] == logSignal {
		return cmp.Or(signal, cmp.Compare(a.position, b.position), context, bytes.Compare(a.key, b.key))
	}
	return cmp.Or(signal, context, bytes.Compare(a.key, b.key))
}

func (k kept) sharesRequest(other kept) bool {
	return k.key[signalAt] == other.key[signalAt] && k.context == other.context
}

// JSON gives the trace as one document of OTLP JSON: {"resourceSpans": [...], "resourceLogs": [...]}, the latter where there are log records.
func (r Raw) JSON() ([]byte, error) {
	spans, _, err := wire.Decode(wire.Traces, r.Traces)
	if err != nil {
		return nil, fmt.Errorf("assemble: decode spans: %w", err)
	}
	doc, err := (&ptrace.JSONMarshaler{}).MarshalTraces(spans.Traces)
	if err != nil || len(r.Logs) == 0 {
		return doc, err
	}
	logs, _, err := wire.Decode(wire.Logs, r.Logs)
	if err != nil {
		return nil, fmt.Errorf("assemble: decode log records: %w", err)
	}
	more, err := (&plog.JSONMarshaler{}).MarshalLogs(logs.Logs)
	if err != nil || spans.Traces.ResourceSpans().Len() == 0 {
		return more, err
	}
	return append(append(bytes.TrimSuffix(doc, []byte("}")), ','), bytes.TrimPrefix(more, []byte("{"))...), nil
}

// trace decodes what was kept.
func (r Raw) trace(t traceID) (trajectory.Trace, error) {
	spans, _, err := wire.Decode(wire.Traces, r.Traces)
	if err != nil {
		return trajectory.Trace{}, err
	}
	logs, _, err := wire.Decode(wire.Logs, r.Logs)
	if err != nil {
		return trajectory.Trace{}, err
	}
	out := trajectory.Trace{ID: t.String()}
	for _, trace := range trajectory.FromOTLP([]ptrace.Traces{spans.Traces}, []plog.Logs{logs.Logs}) {
		if trace.ID == out.ID {
			out = trace
		}
	}
	out.Truncated = out.Truncated || r.Truncated
	return out, nil
}

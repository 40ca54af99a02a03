package assemble

import (
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/go-json-experiment/json"
)

// header is what is known of one trace without reading its records.
type header struct {
	Opened    time.Time `json:"opened"`    // stream time of the first record since the trace was last complete
	Last      time.Time `json:"last"`      // stream time of the latest record
	OpenSeq   uint64    `json:"open_seq"`  // message of Opened; 0 when the trace is complete
	LastSeq   uint64    `json:"last_seq"`  // latest message that touched the trace
	Epoch     int       `json:"epoch"`     // of LastSeq; see cursor
	Root      bool      `json:"root"`      // the root has ended
	Spans     int       `json:"spans"`     // records stored
	Bytes     int64     `json:"bytes"`     // of the records stored
	Truncated bool      `json:"truncated"` // more came than a trace may hold; the rest is not stored
	Due       time.Time `json:"due"`       // of the entry in the due index; zero for none
	Tries     int       `json:"tries"`     // of handing this revision over

	Revision string `json:"revision"` // that was handed over last, "" for none
	Dropped  bool   `json:"dropped"`  // it was no agent's trace and its records are gone
	Note     []byte `json:"note"`     // what the receiver of the last revision wants to be told with the next
}

func (h *header) open() bool { return h.OpenSeq != 0 }

// saw says whether the header counts that message already.
func (h *header) saw(c cursor) bool { return h.Epoch == c.Epoch && h.LastSeq >= c.Seq }

func getHeader(txn *badger.Txn, t traceID) (*header, error) {
	item, err := txn.Get(headerKey(t))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h header
	return &h, item.Value(func(v []byte) error { return json.Unmarshal(v, &h) })
}

func putJSON(set func(k, v []byte) error, key []byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return set(key, b)
}

// due says when the trace is complete if nothing more comes.
func (h *header) due(o Options) time.Time {
	if h.Truncated {
		return h.Last
	}
	quiet := h.Last.Add(o.IdleTimeout)
	if h.Root {
		quiet = h.Last.Add(min(o.RootGrace, o.IdleTimeout))
	}
	if limit := h.Opened.Add(o.MaxAge); limit.Before(quiet) {
		return limit
	}
	return quiet
}

// reason says in a word why the trace is complete.
func (h *header) reason(o Options, now time.Time) string {
	switch {
	case h.Truncated:
		return "size"
	case h.Root && !now.Before(h.Last.Add(o.RootGrace)):
		return "root"
	case !now.Before(h.Last.Add(o.IdleTimeout)):
		return "idle"
	}
	return "age"
}

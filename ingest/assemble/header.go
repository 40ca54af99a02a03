package assemble

import (
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// header is what is known of one trace without reading its records.
type header struct {
	First   time.Time `json:"first"`          // stored time of the first record, and so the first generation to look in
	Seen    time.Time `json:"seen"`           // stored time of the latest record
	Opened  instant   `json:"opened"`         // when the first record since it was last complete came
	Last    instant   `json:"last"`           // when the latest record came
	OpenSeq uint64    `json:"open,omitzero"`  // message of Opened while records are collected, else 0
	Waiting bool      `json:"wait,omitzero"`  // it is in the due index
	Due     instant   `json:"due,omitzero"`   // where
	Root    bool      `json:"root,omitzero"`  // the root has ended
	Full    bool      `json:"full,omitzero"`  // more came than a trace may hold; the rest is not stored
	Spans   int       `json:"spans"`          // records stored
	Bytes   int64     `json:"bytes"`          // of the records stored
	Tries   int       `json:"tries,omitzero"` // of handing over that failed

	Reason   string `json:"reason,omitzero"`   // why it was complete last
	Revision string `json:"revision,omitzero"` // that was handed over last, "" for none
	Dropped  bool   `json:"dropped,omitzero"`  // records of it were dropped, when it was none of an agent's
	Note     []byte `json:"note,omitzero"`     // what the receiver of the last revision wants to be told with the next
}

// The reasons for which a trace is complete.
const (
	reasonRoot = "root" // the root ended and it was quiet for a while
	reasonIdle = "idle" // it was quiet for long
	reasonAge  = "age"
	reasonSize = "size"
	reasonLost = "lost" // its header was lost: what there is of it is handed over
)

// dueAt says when the trace is complete if nothing more comes.
func (h *header) dueAt(o Options) instant {
	if h.Full {
		return h.Last
	}
	quiet := o.IdleTimeout
	if h.Root {
		quiet = min(o.RootGrace, o.IdleTimeout)
	}
	return min(h.Last.add(quiet), h.Opened.add(o.MaxAge))
}

// reason says in a word why the trace is complete, the same at each try.
func (h *header) reason(o Options, now instant) string {
	switch {
	case h.Tries > 0 || h.Reason == reasonLost:
		return h.Reason
	case h.Full:
		return reasonSize
	case h.Root && now >= h.Last.add(o.RootGrace):
		return reasonRoot
	case now >= h.Last.add(o.IdleTimeout):
		return reasonIdle
	}
	return reasonAge
}

// partial says that the trace, complete for that reason, may lack records for a cause of ours.
func (h *header) partial(reason string) bool { return h.Full || h.Dropped || reason == reasonAge }

// touch notes that a message brought something new.
func (h *header) touch(seq uint64, at time.Time, now instant) {
	if h.First.IsZero() {
		h.First = at
	}
	if !h.Waiting {
		h.Opened = now
	}
	if h.OpenSeq == 0 {
		h.OpenSeq = seq
	}
	h.Seen, h.Last, h.Tries, h.Reason = later(h.Seen, at), max(h.Last, now), 0, ""
}

// put writes the header and brings its index entries up to date: was is what they were made from.
func (h *header) put(b *batch, t traceID, was header) error {
	if was.Waiting && (!h.Waiting || h.Due != was.Due) {
		if err := b.delete(dueKey(was.Due, t)); err != nil {
			return err
		}
	}
	if h.Waiting && (!was.Waiting || h.Due != was.Due) {
		if err := b.set(dueKey(h.Due, t), nil); err != nil {
			return err
		}
	}
	if was.OpenSeq != 0 && was.OpenSeq != h.OpenSeq {
		if err := b.delete(openKey(was.OpenSeq, t)); err != nil {
			return err
		}
	}
	if h.OpenSeq != 0 && was.OpenSeq != h.OpenSeq {
		if err := b.set(openKey(h.OpenSeq, t), nil); err != nil {
			return err
		}
	}
	v, err := sealJSON(h)
	if err != nil {
		return err
	}
	return b.set(headerKey(t), v)
}

// getHeader reads a trace's header in one generation; nil where there is none. A damaged one is counted and is as none.
func (s *Store) getHeader(txn *badger.Txn, t traceID) (*header, error) {
	var h header
	found, err := getJSON(txn, headerKey(t), &h)
	if errors.Is(err, errDamaged) {
		s.lg.Warn("a trace's header is damaged", "trace", t, "err", err)
		s.metrics.quarantined.WithLabelValues("damaged_header").Inc()
		return nil, nil
	}
	if !found {
		return nil, err
	}
	return &h, nil
}

// findHeader finds a trace's header in the generations that its maximum age can reach. That of a trace never heard of is empty.
func (s *Store) findHeader(t traceID) (found header, err error) {
	live := s.live()
	for i := len(live) - 1; i >= 0 && found.First.IsZero() && err == nil; i-- {
		err = live[i].use(s.lg, func(db *badger.DB) error {
			return db.View(func(txn *badger.Txn) error {
				h, err := s.getHeader(txn, t)
				if h != nil {
					found = *h
				}
				return err
			})
		})
	}
	return found, err
}

package queue

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Message is one entry of a log.
type Message struct {
	Seq     uint64    // from 1, contiguous
	Signal  Signal    // of SPANS; empty elsewhere, or when another program wrote it
	ID      string    // what Append was given
	Data    []byte    // the payload; yours to keep
	Cuts    []int     // bytes of each request in Data, in order; nil when unknown
	Stored  time.Time // when the stream stored it
	Pending uint64    // messages behind this one when it was sent to the reader; 0 means caught up
	header  nats.Header
}

// Requests iterates over the request bodies of a message, which alias Data. Without cuts that add up to Data, Data is the one request.
func (m Message) Requests() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if len(m.Cuts) == 0 {
			yield(m.Data)
			return
		}
		rest := m.Data
		for _, n := range m.Cuts {
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

func newMessage(h nats.Header, data []byte) Message {
	return Message{Signal: Signal(h.Get(headerSignal)), ID: h.Get(jetstream.MsgIDHeader), Data: data, Cuts: parseCuts(h.Get(headerCuts), len(data)), header: h}
}

// parseCuts reads header Pawl-Cuts; nil unless the lengths are positive and add up to size.
func parseCuts(s string, size int) []int {
	if s == "" {
		return nil
	}
	cuts := make([]int, 0, strings.Count(s, ",")+1)
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n <= 0 || n > size {
			return nil
		}
		size -= n
		cuts = append(cuts, n)
	}
	if size != 0 {
		return nil
	}
	return cuts
}

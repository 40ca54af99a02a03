package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	headerReason = "Pawl-Reason"
	headerMeta   = "Pawl-Meta"
	headerSize   = "Pawl-Size"
	maxMeta      = 2 << 10 // bytes of header Pawl-Meta
	maxMetaValue = 256
)

// Quarantined is one entry of the quarantine.
type Quarantined struct {
	Seq    uint64
	Stored time.Time
	Reason string
	Meta   map[string]string
	Data   []byte
	Size   int // full length of what came; more than len(Data) when it was cut
}

var validReason = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// Quarantine keeps bytes that could not be understood, for a person to look at, and counts them by reason (lower case letters,
// digits and _; anything else counts as "other"). The store is bounded and drops its oldest entries. Bytes beyond MaxBody and
// meta beyond 2 KiB are cut.
func (q *Queue) Quarantine(ctx context.Context, reason string, meta map[string]string, data []byte) error {
	if !validReason.MatchString(reason) {
		reason = "other"
	}
	h := nats.Header{headerReason: {reason}, headerMeta: {encodeMeta(meta)}}
	if limit := q.MaxBody(); len(data) > limit {
		h.Set(headerSize, strconv.Itoa(len(data)))
		data = data[:limit]
	}
	q.metrics.quarantined.WithLabelValues(reason).Inc()
	_, err := q.quarantine.append(ctx, "", h, data)
	return err
}

// encodeMeta writes meta as a JSON object that fits its header, leaving out what does not.
func encodeMeta(meta map[string]string) string {
	kept, size := map[string]string{}, 2
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		v := strings.ToValidUTF8(meta[k][:min(len(meta[k]), maxMetaValue)], "�")
		entry, err := json.Marshal(map[string]string{k: v})
		if size += len(entry); err != nil || size > maxMeta {
			break
		}
		kept[k] = v
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return "{}"
	}
	return string(out)
}

// ListQuarantine iterates over the quarantine from a sequence on (0: from the oldest) to what is the newest at the start.
func (q *Queue) ListQuarantine(ctx context.Context, from uint64) iter.Seq2[Quarantined, error] {
	return func(yield func(Quarantined, error) bool) {
		info, err := q.quarantine.Info(ctx)
		if err != nil {
			yield(Quarantined{}, err)
			return
		}
		for next := max(from, info.First); next <= info.Last; next++ {
			raw, err := q.quarantine.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(q.quarantine.subject)) // or the first after it
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			if err != nil {
				yield(Quarantined{}, q.unavailable(fmt.Sprintf("list quarantine at %d", next), err))
				return
			}
			next = raw.Sequence
			if next > info.Last || !yield(quarantined(raw), nil) {
				return
			}
		}
	}
}

// EraseQuarantined overwrites and deletes an entry of the quarantine, for a person's sake.
func (q *Queue) EraseQuarantined(ctx context.Context, seq uint64) error {
	return q.quarantine.Erase(ctx, seq)
}

func quarantined(raw *jetstream.RawStreamMsg) Quarantined {
	e := Quarantined{Seq: raw.Sequence, Stored: raw.Time, Reason: raw.Header.Get(headerReason), Data: raw.Data}
	if err := json.Unmarshal([]byte(cmp.Or(raw.Header.Get(headerMeta), "{}")), &e.Meta); err != nil {
		e.Meta = map[string]string{"unreadable": raw.Header.Get(headerMeta)}
	}
	e.Size = len(e.Data)
	if n, err := strconv.Atoi(raw.Header.Get(headerSize)); err == nil {
		e.Size = n
	}
	return e
}

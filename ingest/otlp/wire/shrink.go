package wire

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// TruncatedKey is the boolean attribute set on a span, log record, resource or scope whose longest values were cut.
const TruncatedKey = "pawl.truncated"

// maxNamed bounds how many truncated spans a warning names.
const maxNamed = 3

// shrinker rewrites a clean body so that each record, with its resource and scope, fits into limit bytes.
type shrinker struct {
	signal Signal
	limit  int
	report *Report
	out    []byte
	lost   int
	named  []string
}

func shrink(s Signal, body []byte, limit int, report *Report) ([]byte, error) {
	h := shrinker{signal: s, limit: limit, report: report, out: make([]byte, 0, len(body))}
	err := each(s.root(), body, func(t token) error {
		if t.form != message {
			h.out = append(h.out, t.raw...)
			return nil
		}
		return h.group(t)
	})
	if err != nil {
		return nil, err
	}
	report.Spans -= h.lost
	report.reject("too_large", fmt.Sprintf("%s too large even with the longest values cut (limit %d bytes)", s.item(h.lost), limit), h.lost)
	if report.Truncated > 0 {
		report.Warnings = append(report.Warnings, fmt.Sprintf("%s larger than %d bytes: longest values cut and %s=true set: %s",
			s.item(report.Truncated), limit, TruncatedKey, strings.Join(h.named, ", ")))
	}
	return h.out, nil
}

func each(k kind, b []byte, do func(token) error) error {
	for len(b) > 0 {
		t, bad := next(k, b)
		if bad != nil {
			return bad
		}
		if err := do(t); err != nil {
			return err
		}
		b = b[len(t.raw):]
	}
	return nil
}

func (h *shrinker) group(t token) error {
	var f frame
	h.out, f = openFrame(h.out, t.num, len(t.value()))
	around, err := h.header(t, kindResource, h.limit/4)
	if err != nil {
		return err
	}
	err = each(t.kind, t.value(), func(inner token) error {
		if inner.num != 2 {
			return nil
		}
		return h.scope(inner, around)
	})
	h.out = closeFrame(h.out, f)
	return err
}

func (h *shrinker) scope(t token, around int) error {
	var f frame
	h.out, f = openFrame(h.out, t.num, len(t.value()))
	own, err := h.header(t, kindScope, h.limit/8)
	if err != nil {
		return err
	}
	room := h.limit - around - own - frames
	err = each(t.kind, t.value(), func(inner token) error {
		if inner.num == 2 {
			h.record(inner, room)
		}
		return nil
	})
	h.out = closeFrame(h.out, f)
	return err
}

// header writes all of a group or scope but its scopes or records, the message of the kind cut to about budget, and
// returns how many bytes that took.
func (h *shrinker) header(t token, k kind, budget int) (int, error) {
	start := len(h.out)
	err := each(t.kind, t.value(), func(inner token) error {
		if inner.num == 2 {
			return nil
		}
		if inner.form == message && inner.kind == k && len(inner.raw) > budget {
			if cut, ok := cutStrings(k, inner.value(), budget); ok {
				h.out = protowire.AppendTag(h.out, protowire.Number(inner.num), protowire.BytesType)
				h.out = protowire.AppendBytes(h.out, cut)
				return nil
			}
		}
		h.out = append(h.out, inner.raw...)
		return nil
	})
	return len(h.out) - start, err
}

func (h *shrinker) record(t token, room int) {
	if len(t.raw) <= room {
		h.out = append(h.out, t.raw...)
		return
	}
	cut, ok := cutStrings(t.kind, t.value(), room-8)
	if !ok {
		h.lost++
		return
	}
	h.out = protowire.AppendTag(h.out, protowire.Number(t.num), protowire.BytesType)
	h.out = protowire.AppendBytes(h.out, cut)
	h.report.Truncated++
	if len(h.named) < maxNamed {
		h.named = append(h.named, h.describe(t))
	} else if len(h.named) == maxNamed {
		h.named = append(h.named, "...")
	}
}

// describe names a record by its ids; its name is the sender's text and may be anything.
func (h *shrinker) describe(t token) string {
	var trace, span []byte
	_ = each(t.kind, t.value(), func(inner token) error {
		switch inner.form {
		case traceID:
			trace = inner.value()
		case spanID:
			span = inner.value()
		}
		return nil
	})
	return fmt.Sprintf("span %s of trace %s (%d bytes)", hex.EncodeToString(span), hex.EncodeToString(trace), len(t.raw))
}

// cutStrings shortens the longest strings and byte values of a message, all to one length, so that it fits the budget,
// and marks it truncated. Keys are never cut. It tells false where even that does not make it fit.
func cutStrings(k kind, b []byte, budget int) ([]byte, bool) {
	mark := truncatedMark(k)
	budget -= len(mark)
	longest := threshold(lengths(k, b, nil), len(b), budget)
	if longest < 16 {
		return nil, false
	}
	out := appendCut(make([]byte, 0, budget+len(mark)), k, b, longest)
	return append(out, mark...), true
}

func truncatedMark(k kind) []byte {
	num := map[kind]int32{kindSpan: spanAttributes, kindLog: logAttributes, kindResource: 1, kindScope: 3}[k]
	out, f := openFrame(nil, num, 32)
	out = protowire.AppendTag(out, 1, protowire.BytesType)
	out = protowire.AppendString(out, TruncatedKey)
	out = protowire.AppendTag(out, 2, protowire.BytesType)
	out = protowire.AppendBytes(out, []byte{2 << 3, 1})
	return closeFrame(out, f)
}

// cuttable tells the fields that may be shortened.
func cuttable(k kind, f form) bool { return (f == text || f == blob) && k != kindKeyValue }

func lengths(k kind, b []byte, into []int) []int {
	_ = each(k, b, func(t token) error {
		if cuttable(k, t.form) {
			into = append(into, len(t.value()))
		} else if t.form == message {
			into = lengths(t.kind, t.value(), into)
		}
		return nil
	})
	return into
}

// threshold is the greatest length T such that a message of total bytes fits the budget once every value is at most T.
func threshold(lens []int, total, budget int) int {
	slices.Sort(lens)
	excess := total - budget
	for i := len(lens) - 1; i >= 0; i-- {
		below := 0
		if i > 0 {
			below = lens[i-1]
		}
		tall := len(lens) - i
		if gain := (lens[i] - below) * tall; gain < excess {
			excess -= gain
			continue
		}
		return lens[i] - (excess+tall-1)/tall
	}
	return 0
}

func appendCut(out []byte, k kind, b []byte, longest int) []byte {
	_ = each(k, b, func(t token) error {
		switch {
		case cuttable(k, t.form) && len(t.value()) > longest:
			out = protowire.AppendTag(out, protowire.Number(t.num), protowire.BytesType)
			out = protowire.AppendBytes(out, t.value()[:boundary(t.value(), longest, t.form)])
		case t.form == message:
			var f frame
			out, f = openFrame(out, t.num, len(t.value()))
			out = closeFrame(appendCut(out, t.kind, t.value(), longest), f)
		default:
			out = append(out, t.raw...)
		}
		return nil
	})
	return out
}

// boundary moves n back so that no character is split.
func boundary(b []byte, n int, f form) int {
	for f == text && n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

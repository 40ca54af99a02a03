package assemble

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pawl-dev/pawl/ingest/queue"
)

// record is one span or log record of a request, cut out of its bytes.
type record struct {
	trace   traceID
	span    spanID
	root    bool   // a span without a parent that has ended
	context []byte // ResourceSpans or ResourceLogs without records
	bytes   []byte // the record's message
}

var errCut = errors.New("the protobuf ends in the middle of a field")

// split cuts a request into its records without decoding them. Both signals nest alike: request{1: resource{1: resource, 2: scope{1: scope, 2: record,
// 3: url}, 3: url}}. A record without a trace id can join no trace: it is passed over and counted.
func split(signal queue.Signal, body []byte) (out []record, without int, err error) {
	err = fields(body, func(n protowire.Number, raw, inner []byte) error {
		if n != 1 || inner == nil {
			return nil
		}
		rs, skipped, err := splitResource(signal, inner)
		out, without = append(out, rs...), without+skipped
		return err
	})
	return out, without, err
}

func splitResource(signal queue.Signal, resource []byte) (out []record, without int, err error) {
	var head []byte // the resource and its schema url, which all its scopes share
	var scopes [][]byte
	err = fields(resource, func(n protowire.Number, raw, inner []byte) error {
		if n == 2 && inner != nil {
			scopes = append(scopes, inner)
			return nil
		}
		head = append(head, raw...)
		return nil
	})
	for _, s := range scopes {
		if err != nil {
			break
		}
		var rs []record
		var skipped int
		rs, skipped, err = splitScope(signal, head, s)
		out, without = append(out, rs...), without+skipped
	}
	return out, without, err
}

func splitScope(signal queue.Signal, head, scope []byte) (out []record, without int, err error) {
	var own []byte
	var bodies [][]byte
	err = fields(scope, func(n protowire.Number, raw, inner []byte) error {
		if n == 2 && inner != nil {
			bodies = append(bodies, inner)
			return nil
		}
		own = append(own, raw...)
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	context := joinContext(head, own)
	for _, b := range bodies {
		r, ok, err := readRecord(signal, b)
		if err != nil {
			return out, without, err
		}
		if !ok {
			without++
			continue
		}
		r.context = context
		out = append(out, r)
	}
	return out, without, nil
}

// joinContext frames a resource's own fields and a scope's own fields so that both can be told apart again.
func joinContext(head, scope []byte) []byte {
	return append(protowire.AppendBytes(nil, head), scope...)
}

func splitContext(context []byte) (head, scope []byte, err error) {
	head, n := protowire.ConsumeBytes(context)
	if n < 0 {
		return nil, nil, errCut
	}
	return head, context[n:], nil
}

// The fields of a span and of a log record that tell where it belongs.
const (
	spanTrace, spanSpan, spanParent, spanEnd protowire.Number = 1, 2, 4, 8
	logTrace, logSpan                        protowire.Number = 9, 10
)

func readRecord(signal queue.Signal, b []byte) (r record, ok bool, err error) {
	wantTrace, wantSpan := spanTrace, spanSpan
	if signal == queue.Logs {
		wantTrace, wantSpan = logTrace, logSpan
	}
	parent, ended := false, false
	err = fields(b, func(n protowire.Number, raw, inner []byte) error {
		switch {
		case n == wantTrace:
			copy(r.trace[:], inner)
		case n == wantSpan:
			copy(r.span[:], inner)
		case signal == queue.Traces && n == spanParent:
			parent = len(inner) > 0 && spanID(append(inner[:len(inner):len(inner)], make([]byte, 8)...)[:8]) != spanID{}
		case signal == queue.Traces && n == spanEnd:
			ended = true
		}
		return nil
	})
	r.bytes = b
	r.root = signal == queue.Traces && !parent && ended
	return r, r.trace != traceID{}, err
}

// fields calls each for every field of a message: raw is the field with its tag, inner the bytes of a length-delimited one, else nil.
func fields(b []byte, each func(n protowire.Number, raw, inner []byte) error) error {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return fmt.Errorf("%w: %v", errCut, protowire.ParseError(tag))
		}
		size := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if size < 0 {
			return fmt.Errorf("%w: %v", errCut, protowire.ParseError(size))
		}
		var inner []byte
		if typ == protowire.BytesType {
			inner, _ = protowire.ConsumeBytes(b[tag:])
		}
		if err := each(num, b[:tag+size], inner); err != nil {
			return err
		}
		b = b[tag+size:]
	}
	return nil
}

// request puts records that share a context back into one request body.
func request(context []byte, bodies [][]byte) ([]byte, error) {
	head, scope, err := splitContext(context)
	if err != nil {
		return nil, err
	}
	inner := append([]byte{}, scope...)
	for _, b := range bodies {
		inner = protowire.AppendTag(inner, 2, protowire.BytesType)
		inner = protowire.AppendBytes(inner, b)
	}
	resource := append([]byte{}, head...)
	resource = protowire.AppendTag(resource, 2, protowire.BytesType)
	resource = protowire.AppendBytes(resource, inner)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), resource), nil
}

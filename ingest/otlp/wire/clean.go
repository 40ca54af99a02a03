package wire

import (
	"bytes"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"
)

// cleaner rewrites a body on the wire: what the schema knows is mended, the rest is copied. The body has passed a walk.
type cleaner struct {
	scrub  *Scrubber
	loose  bool // keep the log records without a trace id, and only those
	out    []byte
	faults faults
	report Report
	zero   int
	bad    int
	ids    ids
	path   []byte
}

// ids are those of the span or log record at hand, as last seen, and whether each came in a form that cannot be read.
type ids struct {
	trace, span       [16]byte
	badTrace, badSpan bool
}

// clean returns body without its faults: see the package's second invariant, sizes excepted.
func clean(s Signal, body []byte, scrub *Scrubber) ([]byte, Report, error) {
	c := cleaner{scrub: scrub, out: make([]byte, 0, len(body)+len(body)/16+64)}
	if err := c.message(s.root(), body, 0); err != nil {
		return nil, Report{}, err
	}
	c.report.reject("zero_id", s.item(c.zero)+" with an all-zero or absent trace id or span id", c.zero)
	c.report.reject("bad_id", s.item(c.bad)+" with an id that is neither hex, base64 nor of 16 (trace) or 8 (span) bytes", c.bad)
	c.faults.render(&c.report)
	return c.out, c.report, nil
}

// loose returns the log records of a body that carry no trace id, which clean leaves out, without their faults.
func loose(body []byte, scrub *Scrubber) (plog.Logs, error) {
	c := cleaner{scrub: scrub, loose: true, out: make([]byte, 0, len(body))}
	if err := c.message(kindLogsData, body, 0); err != nil {
		return plog.NewLogs(), err
	}
	return (&plog.ProtoUnmarshaler{}).UnmarshalLogs(c.out)
}

func (c *cleaner) message(k kind, b []byte, depth int) error {
	for len(b) > 0 {
		t, bad := next(k, b)
		if bad != nil {
			return bad
		}
		if err := c.field(k, t, depth); err != nil {
			return err
		}
		b = b[len(t.raw):]
	}
	return nil
}

func (c *cleaner) field(k kind, t token, depth int) error {
	switch t.form {
	case text:
		c.bytes(t.num, c.text(k, t.value()))
	case traceID:
		c.ids.badTrace = !c.id(t, c.ids.trace[:16])
	case spanID:
		c.ids.badSpan = !c.id(t, c.ids.span[:8])
	case parentID:
		if !c.id(t, make([]byte, 8)) {
			c.faults.id++
		}
	case linkTraceID:
		if !c.id(t, make([]byte, 16)) {
			c.faults.link++
		}
	case linkSpanID:
		if !c.id(t, make([]byte, 8)) {
			c.faults.link++
		}
	case message:
		return c.enter(k, t, depth)
	default:
		if k == kindAnyValue && t.num == 8 {
			c.faults.unknown++
			return nil
		}
		c.out = append(c.out, t.raw...)
	}
	return nil
}

// text mends a string and, in an attribute value, masks what the value expressions match.
func (c *cleaner) text(k kind, b []byte) []byte {
	if !cleanText(b) {
		c.faults.text++
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
		b = bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD"))
	}
	if c.scrub == nil || k != kindAnyValue || !c.scrub.matches(b) {
		return b
	}
	c.faults.masked++
	return c.scrub.replace(b)
}

// id writes the id into the output and into dst, and tells whether it is one; an empty one is.
func (c *cleaner) id(t token, dst []byte) bool {
	clear(dst)
	if len(t.value()) == 0 {
		return true
	}
	if len(t.value()) == len(dst) {
		copy(dst, t.value())
	} else if !parseID(dst, t.value()) {
		return false
	} else {
		c.faults.id++
	}
	c.bytes(t.num, dst)
	return true
}

func (c *cleaner) enter(k kind, t token, depth int) error {
	num := t.num
	if num == deprecatedScopes && k.isGroup() {
		num = 2
		c.faults.old++
	}
	start := len(c.out)
	content := c.open(num, len(t.value()))
	if err := c.inside(t, depth, start); err != nil {
		return err
	}
	if len(c.out) > start {
		c.close(content)
	}
	return nil
}

// inside writes the content of a message; where the whole of it must go, it cuts the output back to start.
func (c *cleaner) inside(t token, depth, start int) error {
	switch {
	case t.kind == kindSpan || t.kind == kindLog:
		return c.record(t, start)
	case t.kind.isValue() && depth >= maxDepth:
		c.faults.deep++
		return nil
	case t.kind == kindKeyValue && c.scrub != nil:
		return c.keyValue(t, depth, start)
	case t.kind.isValue():
		return c.message(t.kind, t.value(), depth+1)
	}
	return c.message(t.kind, t.value(), depth)
}

func (c *cleaner) record(t token, start int) error {
	c.ids = ids{}
	if err := c.message(t.kind, t.value(), 0); err != nil {
		return err
	}
	if t.kind == kindLog && allZero(c.ids.trace[:]) && !c.ids.badTrace {
		c.adopt(t.value())
	}
	noTrace := allZero(c.ids.trace[:])
	noSpan := t.kind == kindSpan && allZero(c.ids.span[:])
	switch loose := noTrace && t.kind == kindLog && !c.ids.badTrace; {
	case c.loose && loose:
		return nil
	case c.loose:
	case loose:
		c.report.Untraced++
	case noTrace && c.ids.badTrace, noSpan && c.ids.badSpan:
		c.bad++
	case noTrace || noSpan:
		c.zero++
	default:
		if c.ids.badSpan {
			c.faults.id++
		}
		c.report.Spans++
		return nil
	}
	c.out = c.out[:start]
	return nil
}

// Keys under which loggers put the ids of the active span when their records have no fields for them.
var (
	traceKeys = []string{"trace_id", "traceId", "trace.id", "otel.trace_id", "otelTraceID"}
	spanKeys  = []string{"span_id", "spanId", "span.id", "otel.span_id", "otelSpanID"}
)

// adopt gives a log record without a trace id the ids that its attributes carry.
func (c *cleaner) adopt(record []byte) {
	trace, span := make([]byte, 16), make([]byte, 8)
	hasTrace, hasSpan := false, false
	for b := record; len(b) > 0; {
		t, bad := next(kindLog, b)
		if bad != nil {
			return
		}
		b = b[len(t.raw):]
		if t.num != logAttributes {
			continue
		}
		key, value := splitKeyValue(t.value())
		str, bad := next(kindAnyValue, value)
		if len(value) == 0 || bad != nil || str.form != text {
			continue
		}
		if slices.Contains(traceKeys, string(key)) {
			hasTrace = parseID(trace, str.value())
		}
		if slices.Contains(spanKeys, string(key)) {
			hasSpan = parseID(span, str.value())
		}
	}
	if !hasTrace || allZero(trace) {
		return
	}
	copy(c.ids.trace[:], trace)
	c.bytes(logTraceID, trace)
	if hasSpan && allZero(c.ids.span[:]) {
		c.bytes(logSpanID, span)
	}
}

func (c *cleaner) keyValue(t token, depth, start int) error {
	key, _ := splitKeyValue(t.value())
	above := len(c.path)
	defer func() { c.path = c.path[:above] }()
	c.path = join(c.path, key)
	switch c.scrub.judge(c.path) {
	case drop:
		c.faults.dropped++
		c.out = c.out[:start]
		return nil
	case mask:
		c.faults.masked++
		c.bytes(1, c.text(kindKeyValue, key))
		value := c.open(2, len(Masked)+2)
		c.bytes(1, []byte(Masked))
		c.close(value)
		return nil
	}
	return c.message(t.kind, t.value(), depth+1)
}

func (c *cleaner) bytes(num int32, b []byte) {
	c.out = protowire.AppendTag(c.out, protowire.Number(num), protowire.BytesType)
	c.out = protowire.AppendBytes(c.out, b)
}

func (c *cleaner) open(num int32, guess int) frame {
	var f frame
	c.out, f = openFrame(c.out, num, guess)
	return f
}

func (c *cleaner) close(f frame) { c.out = closeFrame(c.out, f) }

// frame is a length-delimited field being written: where its content starts and how many bytes its length was given.
type frame struct{ content, reserved int }

// openFrame writes the tag and room for a length like guess.
func openFrame(out []byte, num int32, guess int) ([]byte, frame) {
	out = protowire.AppendTag(out, protowire.Number(num), protowire.BytesType)
	reserved := protowire.SizeVarint(uint64(guess))
	out = append(out, make([]byte, reserved)...)
	return out, frame{len(out), reserved}
}

// closeFrame writes the true length, moving the content where the guess was of another width.
func closeFrame(out []byte, f frame) []byte {
	size := len(out) - f.content
	need := protowire.SizeVarint(uint64(size))
	if need > f.reserved {
		out = append(out, make([]byte, need-f.reserved)...)
	}
	at := f.content - f.reserved
	copy(out[at+need:], out[f.content:f.content+size])
	protowire.AppendVarint(out[at:at], uint64(size))
	return out[:at+need+size]
}

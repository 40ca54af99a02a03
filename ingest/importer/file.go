package importer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// file reads one source. Its methods return false when the consumer wants no more.
type file struct {
	name  string
	found bool
	opt   Options
	yield func(Item, error) bool
	odd   []odd

	waits     *export // what documents of other shapes said and was not given out yet
	waitsAt   document
	waitsSize int
}

// odd collects the documents of one shape that are not read, so that a file of ten thousand of them is one problem.
type odd struct {
	err   error
	line  int
	at    int64
	count int
}

func (f *file) problem(line int, offset int64, err error) bool {
	if !f.settle() {
		return false
	}
	return f.yield(Item{}, &Problem{File: f.name, Line: line, Offset: offset, Found: f.found, Err: err})
}

func (f *file) read(r io.Reader) bool {
	content, done, err := f.inflate(r)
	defer done()
	if err != nil {
		return f.problem(0, 0, err)
	}
	head, err := content.Peek(512)
	switch {
	case len(head) == 0 && err == io.EOF:
		return f.problem(0, 0, fmt.Errorf("the file is empty: %w", ErrNotTelemetry))
	case len(head) == 0:
		return f.problem(0, 0, err)
	case looksLikeJSON(head):
		return f.json(content)
	}
	return f.binary(content)
}

// inflate takes off up to three layers of compression.
func (f *file) inflate(r io.Reader) (*bufio.Reader, func(), error) {
	done := func() {}
	in := &counter{r: r}
	content := bufio.NewReaderSize(in, 64<<10)
	for range 3 {
		var inner io.Reader
		switch head, _ := content.Peek(4); {
		case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
			z, err := gzip.NewReader(content)
			if err != nil {
				return nil, done, fmt.Errorf("gzip: %w", err)
			}
			inner = z
		case bytes.Equal(head, zstdMagic):
			z, err := zstd.NewReader(content, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(f.opt.MaxDocument)))
			if err != nil {
				return nil, done, fmt.Errorf("zstd: %w", err)
			}
			before := done
			done = func() { z.Close(); before() }
			inner = z
		default:
			return content, done, nil
		}
		content = bufio.NewReaderSize(&guard{r: inner, in: in, max: f.opt.MaxInflated}, 64<<10)
	}
	return content, done, nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// guard ends a stream that inflates beyond reason: beyond max, or beyond maxRatio of what was read once past ratioFrom.
// Telemetry, repetitive as it is, compresses 10 to 40 fold.
type guard struct {
	r   io.Reader
	in  *counter
	n   int64
	max int64
}

const (
	maxRatio  = 250
	ratioFrom = 16 << 20
)

func (g *guard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.n += int64(n)
	if g.n > g.max {
		return n, fmt.Errorf("%w: more than %d bytes after inflating; split the file", ErrTooLarge, g.max)
	}
	if g.n > ratioFrom && g.n/maxRatio > g.in.n {
		return n, fmt.Errorf("%w: %d bytes inflate to more than %d, which looks like a compression bomb; inflate it yourself if it is genuine",
			ErrTooLarge, g.in.n, g.n)
	}
	if err == io.ErrUnexpectedEOF { // as the decompressors give it, and not wrapped by a layer below
		err = fmt.Errorf("the compressed data is cut off: %w", err)
	}
	return n, err
}

// looksLikeJSON tells text that begins with an object or list from protobuf, which may begin with a newline and a brace
// too: 0x0a is the tag of the first field.
func looksLikeJSON(head []byte) bool {
	head = bytes.TrimPrefix(head, utf8BOM)
	if bytes.Contains(head, []byte("\n{\"resource")) {
		return true // lines of JSON after a first one that is damaged
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 {
		return true // white space so far; the splitter will see
	}
	after := bytes.TrimLeft(text[1:], " \t\r\n")
	switch text[0] {
	case '{':
		return len(after) == 0 || after[0] == '"' || after[0] == '}'
	case '[':
		return len(after) == 0 || bytes.IndexByte([]byte(`{[]"`), after[0]) >= 0
	}
	return false
}

var utf8BOM = []byte{0xef, 0xbb, 0xbf}

func (f *file) json(content *bufio.Reader) bool {
	s := newSplitter(content, f.opt.MaxDocument)
	for {
		doc, err := s.next()
		if err == io.EOF {
			return f.flush()
		}
		if bad, ok := errors.AsType[*badDocument](err); ok {
			if !f.problem(bad.line, bad.offset, bad.err) {
				return false
			}
			continue
		}
		if err != nil {
			return f.problem(s.line, s.offset, fmt.Errorf("the rest cannot be read: %w", err)) && f.flush()
		}
		if !f.document(doc) {
			return false
		}
	}
}

// document decodes one JSON object: its traces, its logs, or both, or what another tool's export says.
func (f *file) document(doc document) bool {
	shape, o, err := recognise(doc.body)
	if err != nil && !shape.traces && !shape.logs {
		if mended, changed := mend(doc.body); changed {
			doc.body = mended
			shape, o, err = recognise(mended)
		}
	}
	switch {
	case shape.read != nil && err != nil:
		return f.problem(doc.line, doc.offset, fmt.Errorf("%s: %w", shape.name, err))
	case shape.read != nil:
		return f.foreign(doc, shape, o)
	case shape.other != nil:
		f.note(doc, shape.other)
		return true
	case shape.inner != nil:
		doc.body = shape.inner
		return f.decoded(doc, wire.Traces, wire.DecodeJSON, shape.notes...)
	}
	if shape.traces && !f.decoded(doc, wire.Traces, wire.DecodeJSON) {
		return false
	}
	return !shape.logs || f.decoded(doc, wire.Logs, wire.DecodeJSON)
}

// foreign reads a document of another tool's shape into what waits. Documents of single spans are given out together.
func (f *file) foreign(doc document, s shape, o object) bool {
	x := newExport()
	if err := s.read(x, o); err != nil {
		return f.problem(doc.line, doc.offset, fmt.Errorf("%s: %w", s.name, err))
	}
	if f.waits == nil {
		f.waits, f.waitsAt = newExport(), document{line: doc.line, offset: doc.offset}
	}
	f.waits.merge(x)
	f.waitsSize += len(doc.body)
	return f.waitsSize < waitsMax || f.settle()
}

// waitsMax bounds the bytes of the documents that are given out together.
const waitsMax = 4 << 20

// settle gives out what waits.
func (f *file) settle() bool {
	if f.waits == nil {
		return true
	}
	x, at := f.waits, f.waitsAt
	f.waits, f.waitsSize = nil, 0
	data, reports, err := x.data()
	if err != nil {
		return f.problem(at.line, at.offset, err)
	}
	for i := range data {
		if !f.yield(Item{File: f.name, Line: at.line, Offset: at.offset, Data: data[i], Report: reports[i]}, nil) {
			return false
		}
	}
	return true
}

func (f *file) decoded(doc document, s wire.Signal, decode func(wire.Signal, []byte) (wire.Data, wire.Report, error), notes ...string) bool {
	if !f.settle() {
		return false
	}
	data, report, err := decode(s, doc.body)
	if err != nil {
		return f.problem(doc.line, doc.offset, err)
	}
	report.Merge(wire.Report{Warnings: notes})
	return f.yield(Item{File: f.name, Line: doc.line, Offset: doc.offset, Data: data, Report: report}, nil)
}

func (f *file) note(doc document, err error) {
	for i := range f.odd {
		if f.odd[i].err == err || f.odd[i].err.Error() == err.Error() {
			f.odd[i].count++
			return
		}
	}
	f.odd = append(f.odd, odd{err, doc.line, doc.offset, 1})
}

func (f *file) flush() bool {
	if !f.settle() {
		return false
	}
	for _, o := range f.odd {
		err := o.err
		if o.count > 1 {
			err = fmt.Errorf("%d documents: %w", o.count, err)
		}
		if !f.problem(o.line, o.at, err) {
			return false
		}
	}
	return true
}

// firstTag begins every OTLP request in protobuf: field 1, length-delimited. As the first byte of a length it would mean
// over 160 MB.
const firstTag = 0x0a

func (f *file) binary(content *bufio.Reader) bool {
	if head, _ := content.Peek(1); head[0] == firstTag {
		body, err := io.ReadAll(io.LimitReader(content, int64(f.opt.MaxDocument)+1))
		if err != nil {
			return f.problem(0, int64(len(body)), err)
		}
		if len(body) > f.opt.MaxDocument {
			return f.problem(0, 0, fmt.Errorf("%w: a single protobuf request of more than %d bytes", ErrTooLarge, f.opt.MaxDocument))
		}
		return f.protobuf(document{body: body})
	}
	return f.prefixed(content)
}

// prefixed reads messages that each follow their length in four bytes, big-endian; each may be JSON or protobuf and
// compressed by itself, as the Collector's file exporter does it.
func (f *file) prefixed(content *bufio.Reader) bool {
	offset := int64(0)
	for {
		var length [4]byte
		switch _, err := io.ReadFull(content, length[:]); {
		case err == io.EOF:
			return f.flush()
		case err != nil:
			return f.problem(0, offset, fmt.Errorf("the file ends within the length of a message: %w", err))
		}
		n := int64(binary.BigEndian.Uint32(length[:]))
		if n > int64(f.opt.MaxDocument) || n == 0 && offset == 0 {
			return f.problem(0, offset, f.notAMessage(n, offset))
		}
		body := make([]byte, 0, min(n, 1<<20))
		body, err := appendN(body, content, n)
		if err != nil {
			return f.problem(0, offset, f.cutShort(n, offset, err))
		}
		if !f.message(document{body: body, offset: offset + 4}) {
			return false
		}
		offset += 4 + n
	}
}

func (f *file) notAMessage(n, offset int64) error {
	if offset == 0 {
		return ErrNotTelemetry
	}
	return fmt.Errorf("%w: a message of %d bytes is announced (limit %d); the rest of the file is not read", ErrTooLarge, n, f.opt.MaxDocument)
}

func (f *file) cutShort(n, offset int64, err error) error {
	if offset == 0 {
		return ErrNotTelemetry
	}
	return fmt.Errorf("the last message is cut short, %d bytes were announced: %w", n, err)
}

func appendN(body []byte, r io.Reader, n int64) ([]byte, error) {
	buf := bytes.NewBuffer(body)
	_, err := io.CopyN(buf, r, n)
	return buf.Bytes(), err
}

// message reads one length-prefixed message, inflating it first where it is compressed.
func (f *file) message(doc document) bool {
	if bytes.HasPrefix(doc.body, zstdMagic) {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(f.opt.MaxDocument)))
		if err == nil {
			defer d.Close()
			doc.body, err = d.DecodeAll(doc.body, nil)
		}
		if err != nil {
			return f.problem(0, doc.offset, fmt.Errorf("zstd message: %w", err))
		}
	}
	if looksLikeJSON(doc.body) && len(doc.body) > 0 {
		return f.document(doc)
	}
	return f.protobuf(doc)
}

// protobuf finds out by the framing whether a body holds traces or logs; their envelopes are the same.
func (f *file) protobuf(doc document) bool {
	traces, asTraces := wire.Walk(wire.Traces, doc.body)
	logs, asLogs := wire.Walk(wire.Logs, doc.body)
	switch {
	case asTraces == nil && (traces.ZeroIDs == 0 || asLogs != nil):
		return f.decoded(doc, wire.Traces, wire.Decode)
	case asLogs == nil && logs.ZeroIDs == 0 || asTraces != nil && asLogs == nil:
		return f.decoded(doc, wire.Logs, wire.Decode)
	case asTraces == nil:
		return f.decoded(doc, wire.Traces, wire.Decode)
	}
	if doc.offset <= 4 {
		return f.problem(0, doc.offset, fmt.Errorf("%w (%w)", ErrNotTelemetry, asTraces))
	}
	return f.problem(0, doc.offset, asTraces)
}

package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// coding is how a body is compressed.
type coding uint8

const (
	plain coding = iota
	gzipped
	zstded
	deflated
)

// errTooMuch says that a body exceeds its limit once inflated.
var errTooMuch = errors.New("body too large after inflating")

// codingOf reads a Content-Encoding header; not ok is an encoding that is not understood.
func codingOf(header string) (coding, bool) {
	switch strings.ToLower(strings.TrimSpace(header)) {
	case "", "identity":
		return plain, true
	case "gzip", "x-gzip":
		return gzipped, true
	case "zstd":
		return zstded, true
	case "deflate":
		return deflated, true
	}
	return plain, false
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// sniff corrects the coding by what the body begins with: neither protobuf nor JSON begins like gzip or zstd, and senders
// forget the header, or set it and do not compress.
func sniff(body []byte, said coding) coding {
	switch {
	case bytes.HasPrefix(body, gzipMagic):
		return gzipped
	case bytes.HasPrefix(body, zstdMagic):
		return zstded
	case said == deflated && (isZlib(body) || !looksPlain(body)):
		return deflated
	}
	return plain
}

// isZlib checks the two-byte header of zlib, which is what HTTP means by deflate.
func isZlib(b []byte) bool {
	return len(b) >= 2 && b[0]&0x0f == 8 && (int(b[0])<<8|int(b[1]))%31 == 0
}

// looksPlain tells a body that begins as an export request does.
func looksPlain(b []byte) bool { return len(b) == 0 || b[0] == 0x0a || b[0] == '{' }

// inflate undoes the coding, up to limit bytes: it reads one byte more and stops. The error is errTooMuch or a damaged
// body.
func inflate(body []byte, c coding, limit int) ([]byte, error) {
	if c == plain {
		return body, nil
	}
	r, err := c.reader(bytes.NewReader(body), body)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := bytes.NewBuffer(make([]byte, 0, min(limit, 6*len(body)+512)))
	if _, err := out.ReadFrom(io.LimitReader(r, int64(limit)+1)); err != nil {
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return nil, errTooMuch
		}
		return nil, fmt.Errorf("damaged %s body: %w", c, err)
	}
	if out.Len() > limit {
		return nil, errTooMuch
	}
	return out.Bytes(), nil
}

// String returns the name in a Content-Encoding header.
func (c coding) String() string {
	return [...]string{"identity", "gzip", "zstd", "deflate"}[c]
}

// maxWindow bounds the memory that one zstd body may ask for before anything is inflated; encoders use 8 MiB at most
// unless told otherwise.
const maxWindow = 32 << 20

// Decompressors cost more to make than a usual body to inflate, so they are kept.
var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdReaders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		return &zstdReader{d, err}
	}}
)

// reader undoes the coding of a stream that begins with head. Closing it gives its memory back.
func (c coding) reader(r io.Reader, head []byte) (io.ReadCloser, error) {
	var z io.ReadCloser
	var err error
	switch {
	case c == gzipped:
		g := &gzipReader{gzipReaders.Get().(*gzip.Reader)}
		if err = g.Reset(r); err != nil {
			_ = g.Close() // back into the pool
		}
		z = g
	case c == zstded:
		d := zstdReaders.Get().(*zstdReader)
		if err = d.err; err == nil {
			err = d.Reset(r)
		}
		z = d
	case isZlib(head):
		z, err = zlib.NewReader(r)
	default:
		z = flate.NewReader(r)
	}
	if err != nil {
		return nil, fmt.Errorf("damaged %s body: %w", c, err)
	}
	return z, nil
}

type gzipReader struct{ *gzip.Reader }

// Close puts the reader back; it must not be used after.
func (g *gzipReader) Close() error {
	if g.Reader != nil {
		gzipReaders.Put(g.Reader)
		g.Reader = nil
	}
	return nil
}

type zstdReader struct {
	*zstd.Decoder
	err error
}

// Close puts the reader back; it must not be used after.
func (d *zstdReader) Close() error {
	if err := d.Reset(nil); err == nil {
		zstdReaders.Put(d)
	}
	return nil
}

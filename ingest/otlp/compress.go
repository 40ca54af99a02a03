package otlp

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // registered first, so that ours replaces it
)

// gRPC finds compressors in a table of its own that may be written only while the program is initialised, which is why
// this is a package variable and no part of New. The size limit is gRPC's: it reads one byte more than MaxRecvMsgSize.
var _ = register(gzipped, zstded, deflated)

func register(codings ...coding) bool {
	for _, c := range codings {
		encoding.RegisterCompressor(compressor{c})
	}
	return true
}

// compressor is a coding as gRPC wants it.
type compressor struct{ coding coding }

// Name is the value of grpc-encoding.
func (c compressor) Name() string { return c.coding.String() }

// Compress is for replies and for clients in this process.
func (c compressor) Compress(w io.Writer) (io.WriteCloser, error) {
	switch c.coding {
	case gzipped:
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case zstded:
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return z, nil
	}
	return zlib.NewWriter(w), nil
}

// Decompress reads what was sent; gRPC closes it. A message that is flagged as compressed and is not passes as it is.
func (c compressor) Decompress(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(4) // a short or broken stream shows below
	actual := sniff(head, c.coding)
	if actual == plain {
		return in, nil
	}
	return actual.reader(in, head)
}

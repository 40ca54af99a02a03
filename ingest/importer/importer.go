// Package importer reads recorded telemetry from files: what an OpenTelemetry Collector, an SDK or a curl wrote, and what
// other tools export.
//
// The form is found by content, never by name: gzip or zstd around it (up to three deep), then OTLP JSON (an object, JSON
// lines, objects one after the other in any layout, a list of them), or OTLP protobuf (one request, or the
// length-prefixed messages of the Collector's file exporter). Traces and logs may be mixed.
//
// Other shapes have a file each: answers of Jaeger's and Tempo's APIs, rows of CloudWatch (Bedrock AgentCore), exports of
// Phoenix, Langfuse and LangSmith, TRAIL traces, dumps of the Go, Python and JavaScript SDKs and of single spans. Each becomes
// the OTLP that it came from, as far as the source says: attributes under the keys of the dialect that they are in. Nothing
// is invented; an id that is not OpenTelemetry's is replaced by a hash of it, and the report's warnings say so.
//
// Invariants: items come in the order of the file, each with its position; small documents of other shapes are given out
// together, at the position of the first; a fault in one document loses that document alone and is yielded as a [Problem]
// in its place; memory is bounded by the largest document (for a list within {"data": or {"runs": by its largest element),
// not by the file; a file that inflates beyond reason ends with an error.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Item is one export request as recorded: where it stood, what it holds, and what had to be mended or left out. Line
// counts from 1 and is 0 in binary files; Offset is in bytes of the inflated content.
type Item struct {
	File   string
	Line   int
	Offset int64
	Data   wire.Data
	Report wire.Report
}

// Options bounds what a reader takes on; zero values mean the defaults given.
type Options struct {
	MaxDocument int       // bytes of one JSON object or protobuf message: 64 MiB
	MaxInflated int64     // bytes of one file after inflating: 16 GiB
	Stdin       io.Reader // read for the path "-": os.Stdin
}

func (o Options) withDefaults() Options {
	o.MaxDocument = cmp.Or(o.MaxDocument, 64<<20)
	o.MaxInflated = cmp.Or(o.MaxInflated, 16<<30)
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	return o
}

// Problem is a part of a file, or a whole file, that could not be read; the rest still comes. Found tells that the file
// was met in a directory rather than named, so that a caller may pass over what is no telemetry. Err is an [*Unsupported],
// [ErrNotTelemetry], [ErrTooLarge] or the fault itself.
type Problem struct {
	File   string
	Line   int
	Offset int64
	Found  bool
	Err    error
}

// Error gives file, line (or byte offset) and what is wrong.
func (p *Problem) Error() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", p.File, p.Line, p.Err)
	}
	if p.Offset > 0 {
		return fmt.Sprintf("%s: byte %d: %v", p.File, p.Offset, p.Err)
	}
	return fmt.Sprintf("%s: %v", p.File, p.Err)
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// ErrNotTelemetry is wrapped where a file or document is neither OTLP nor a known export of another tool.
var ErrNotTelemetry = errors.New("no telemetry here: want OTLP JSON (an object with resourceSpans or resourceLogs), an export of Jaeger, Tempo, CloudWatch, Phoenix, Langfuse or LangSmith, or OTLP protobuf")

// ErrTooLarge is wrapped where a document or an inflated file exceeds its limit.
var ErrTooLarge = errors.New("too large")

// Unsupported says that the data is a known export of another tool that cannot be read yet; Shape names it.
type Unsupported struct{ Shape string }

// Error names the shape and the way out.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("this is %s, which is not read yet: export the same traces as OTLP JSON or protobuf (a Collector's file exporter writes both)", u.Shape)
}

// Read yields what r holds, under the given name. It stops early if the consumer does, and after an error that leaves no
// way on, such as a broken gzip stream. Every error is a [*Problem].
func Read(name string, r io.Reader, opt Options) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		f := file{name: name, opt: opt.withDefaults(), yield: yield}
		f.read(r)
	}
}

// Walk yields what the paths hold, in order: files, directories (all files below, by name, without hidden ones and
// symbolic links), and "-" for standard input. A path that cannot be opened is a [*Problem] and the others still come.
func Walk(opt Options, paths ...string) iter.Seq2[Item, error] {
	opt = opt.withDefaults()
	return func(yield func(Item, error) bool) {
		for _, path := range paths {
			if !walk(opt, path, yield) {
				return
			}
		}
	}
}

func walk(opt Options, path string, yield func(Item, error) bool) bool {
	if path == "-" {
		f := file{name: "standard input", opt: opt, yield: yield}
		return f.read(opt.Stdin)
	}
	goOn := true
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			goOn = yield(Item{}, &Problem{File: at, Found: at != path, Err: err})
		case at != path && entry.Name()[0] == '.':
			if entry.IsDir() {
				return fs.SkipDir
			}
		case at == path && !entry.IsDir(), entry.Type().IsRegular():
			goOn = open(opt, at, at != path, yield)
		}
		if !goOn {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && goOn {
		return yield(Item{}, &Problem{File: path, Err: err})
	}
	return goOn
}

func open(opt Options, path string, found bool, yield func(Item, error) bool) bool {
	in, err := os.Open(path)
	if err != nil {
		return yield(Item{}, &Problem{File: path, Found: found, Err: err})
	}
	defer in.Close()
	f := file{name: path, found: found, opt: opt, yield: yield}
	return f.read(in)
}

package importer

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// Overlap finds recordings that use the same ids for other spans: a span of one trace can be there once, so that of two such only one is
// kept. The same span told twice, or as far as it had got, is no overlap. The zero Overlap is ready for use.
type Overlap struct {
	spans map[spanKey]told
	warns map[[2]string]bool // files of which it was said already
}

type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

type told struct {
	file  string
	start pcommon.Timestamp
}

// apart is how far two starts of one span may lie apart, for formats that keep no more than milliseconds.
const apart = 2 * time.Millisecond

// Add notes the spans of an item and returns a warning, once for each pair of files, when another file has other spans under the same ids;
// "" otherwise.
func (o *Overlap) Add(item Item) string {
	if item.Data.Signal != wire.Traces {
		return ""
	}
	if o.spans == nil {
		o.spans, o.warns = map[spanKey]told{}, map[[2]string]bool{}
	}
	warning := ""
	for _, rs := range item.Data.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				key, now := spanKey{s.TraceID(), s.SpanID()}, told{item.File, s.StartTimestamp()}
				had, ok := o.spans[key]
				if !ok {
					o.spans[key] = now
					continue
				}
				pair := [2]string{had.file, now.file}
				if had.file == now.file || o.warns[pair] || had.start.AsTime().Sub(now.start.AsTime()).Abs() < apart {
					continue
				}
				o.warns[pair] = true
				warning = fmt.Sprintf("trace %s has the ids of another recording's, in %s: of spans with one id only one is kept; read the two in runs of their own", s.TraceID(), had.file)
			}
		}
	}
	return warning
}

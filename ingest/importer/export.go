package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// export is what one or several documents of another tool's shape say, as OTLP. A document fills an export of its own, which
// is merged only when the whole document could be read.
type export struct {
	groups   []*group
	at       map[string]*group // by key
	seen     map[place]*group  // of the document that is being read
	spans    int
	logs     int
	untraced int // rows that are no telemetry of a trace
	notes    []string
}

// group is what one resource and scope said.
type group struct {
	key      string
	resource pcommon.Resource
	scope    pcommon.InstrumentationScope
	spans    ptrace.SpanSlice
	logs     plog.LogRecordSlice
}

// origin is the resource and scope as the source writes them. Resource and scope attributes are objects or lists of pairs.
type origin struct {
	resource, more      jsontext.Value // two sets of resource attributes, of which some sources have both
	service             string         // service.name, where the source has it in a place of its own
	scopeName, scopeVer string
	scopeAttrs          jsontext.Value
}

// place is where in its document an origin stands: spans of one envelope share it, however large it is.
type place struct {
	resource, more, scopeAttrs   *byte
	service, scopeName, scopeVer string
}

func (o origin) place() place {
	return place{first(o.resource), first(o.more), first(o.scopeAttrs), o.service, o.scopeName, o.scopeVer}
}

func first(v jsontext.Value) *byte {
	if len(v) == 0 {
		return nil
	}
	return &v[0]
}

// key tells origins apart by what they say.
func (o origin) key() string {
	return strings.Join([]string{string(o.resource), string(o.more), o.service, o.scopeName, o.scopeVer, string(o.scopeAttrs)}, "\x00")
}

func newExport() *export { return &export{at: map[string]*group{}, seen: map[place]*group{}} }

// in returns the group of an origin.
func (x *export) in(o origin) *group {
	if g, ok := x.seen[o.place()]; ok {
		return g
	}
	key := o.key()
	if g, ok := x.at[key]; ok {
		x.seen[o.place()] = g
		return g
	}
	g := &group{key: key, resource: pcommon.NewResource(), scope: pcommon.NewInstrumentationScope(), spans: ptrace.NewSpanSlice(), logs: plog.NewLogRecordSlice()}
	x.attributes(o.resource, g.resource.Attributes())
	x.attributes(o.more, g.resource.Attributes())
	if o.service != "" {
		g.resource.Attributes().PutStr("service.name", o.service)
	}
	g.scope.SetName(o.scopeName)
	g.scope.SetVersion(o.scopeVer)
	x.attributes(o.scopeAttrs, g.scope.Attributes())
	x.keep(g)
	x.seen[o.place()] = g
	return g
}

func (x *export) keep(g *group) {
	x.groups = append(x.groups, g)
	x.at[g.key] = g
}

// newSpan appends an empty span to the group of the origin.
func (x *export) newSpan(o origin) ptrace.Span {
	x.spans++
	return x.in(o).spans.AppendEmpty()
}

// newLog appends an empty log record to the group of the origin.
func (x *export) newLog(o origin) plog.LogRecord {
	x.logs++
	return x.in(o).logs.AppendEmpty()
}

// maxNotes bounds what a report says of one export.
const maxNotes = 12

// note keeps a sentence for the report, once.
func (x *export) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(x.notes) < maxNotes && !slices.Contains(x.notes, text) {
		x.notes = append(x.notes, text)
	}
}

// merge moves what other holds into x.
func (x *export) merge(other *export) {
	for _, g := range other.groups {
		if mine, ok := x.at[g.key]; ok {
			g.spans.MoveAndAppendTo(mine.spans)
			g.logs.MoveAndAppendTo(mine.logs)
			continue
		}
		x.keep(g)
	}
	x.spans, x.logs, x.untraced = x.spans+other.spans, x.logs+other.logs, x.untraced+other.untraced
	for _, text := range other.notes {
		x.note("%s", text)
	}
}

// data brings an export through the checks that every OTLP body passes: ids, text, nesting, sizes. The traces come first; a
// signal without content is left out.
func (x *export) data() ([]wire.Data, []wire.Report, error) {
	var out []wire.Data
	var reports []wire.Report
	for _, d := range x.signals() {
		body, err := wire.Marshal(d)
		if err != nil {
			return nil, nil, err
		}
		data, report, err := wire.Decode(d.Signal, body)
		if err != nil {
			return nil, nil, err
		}
		out, reports = append(out, data), append(reports, report)
	}
	if len(out) > 0 {
		reports[0].Merge(wire.Report{Warnings: x.notes})
		reports[len(out)-1].Untraced += x.untraced
	}
	return out, reports, nil
}

// signals copies the groups into one request for each signal that has content. Rows of a log that belong to no trace make a
// request without records, so that they are counted.
func (x *export) signals() []wire.Data {
	traces, logs := ptrace.NewTraces(), plog.NewLogs()
	for _, g := range x.groups {
		if g.spans.Len() > 0 {
			rs := traces.ResourceSpans().AppendEmpty()
			ss := rs.ScopeSpans().AppendEmpty()
			g.resource.CopyTo(rs.Resource())
			g.scope.CopyTo(ss.Scope())
			g.spans.MoveAndAppendTo(ss.Spans())
		}
		if g.logs.Len() > 0 {
			rl := logs.ResourceLogs().AppendEmpty()
			sl := rl.ScopeLogs().AppendEmpty()
			g.resource.CopyTo(rl.Resource())
			g.scope.CopyTo(sl.Scope())
			g.logs.MoveAndAppendTo(sl.LogRecords())
		}
	}
	var out []wire.Data
	if traces.ResourceSpans().Len() > 0 {
		out = append(out, wire.Data{Signal: wire.Traces, Traces: traces, Logs: plog.NewLogs()})
	}
	if logs.ResourceLogs().Len() > 0 || x.untraced > 0 {
		out = append(out, wire.Data{Signal: wire.Logs, Traces: ptrace.NewTraces(), Logs: logs})
	}
	return out
}

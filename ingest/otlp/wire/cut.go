package wire

import (
	"hash/fnv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Batch is one request cut from a larger one: Body is the protobuf encoding of an export request of the signal, whose
// Spans spans (or log records) all belong to Partition.
type Batch struct {
	Signal    Signal
	Partition int
	Body      []byte
	Spans     int
}

// Partition returns which of n streams holds the trace: the 64-bit FNV-1a hash of the sixteen id bytes, modulo n. Streams
// on disk are named by the result, so it must never change. For n of 1 or less it is 0.
func Partition(trace [16]byte, n int) int { return partition(trace[:], n) }

func partition(trace []byte, n int) int {
	if n <= 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write(trace)
	return int(h.Sum64() % uint64(n))
}

// Cut divides a clean body by the traces' partitions, on the wire, and where a part would exceed maxMessage bytes (0: no
// limit) into several parts. Resource and scope travel with each part that needs them; the order of spans within a
// partition is kept; parts are ordered by partition. A body that is one part is returned unchanged and uncopied. A single
// span larger than maxMessage is not divided: [Filter.Apply] has seen to those.
func Cut(s Signal, body []byte, partitions, maxMessage int) ([]Batch, error) {
	c := cutter{signal: s, partitions: partitions}
	if err := c.read(s, body); err != nil {
		return nil, err
	}
	if len(c.items) == 0 {
		return nil, nil
	}
	if c.single && (maxMessage <= 0 || len(body) <= maxMessage) {
		return []Batch{{s, c.items[0].part, body, len(c.items)}}, nil
	}
	return c.parts(maxMessage), nil
}

// cutter holds a request taken apart: slices of the body, no copies but of the headers that are not in one piece.
type cutter struct {
	signal     Signal
	partitions int
	groups     [][]byte // all of each resource group but its scopes
	scopes     [][]byte // all of each scope group but its records
	items      []item
	single     bool
}

// item is one span or log record: its bytes with the tag, and where it belongs.
type item struct {
	raw          []byte
	part         int
	group, scope int
}

func (c *cutter) read(s Signal, body []byte) error {
	c.single = true
	return each(s.root(), body, func(g token) error {
		if g.form != message {
			return nil
		}
		c.groups = append(c.groups, header(g))
		return each(g.kind, g.value(), func(sc token) error {
			if sc.num != 2 && sc.num != deprecatedScopes {
				return nil
			}
			c.scopes = append(c.scopes, header(sc))
			return each(sc.kind, sc.value(), c.record)
		})
	})
}

func (c *cutter) record(t token) error {
	if t.num != 2 {
		return nil
	}
	it := item{raw: t.raw, group: len(c.groups) - 1, scope: len(c.scopes) - 1}
	if c.partitions > 1 {
		it.part = partition(recordTrace(t), c.partitions)
	}
	c.single = c.single && (len(c.items) == 0 || c.items[0].part == it.part)
	c.items = append(c.items, it)
	return nil
}

func recordTrace(t token) (id []byte) {
	_ = each(t.kind, t.value(), func(f token) error {
		if f.form == traceID {
			id = f.value()
		}
		return nil
	})
	return id
}

// header returns all fields of a group or scope but its scopes or records; a slice of the body where they are contiguous.
func header(t token) []byte {
	var out []byte
	start, end := 0, 0
	at := 0
	_ = each(t.kind, t.value(), func(f token) error {
		here := at
		at += len(f.raw)
		if f.num == 2 || f.num == deprecatedScopes {
			return nil
		}
		if here == end || start == end {
			if start == end {
				start = here
			}
			end = at
			return nil
		}
		out = append(out, t.value()[start:end]...)
		start, end = here, at
		return nil
	})
	if out == nil {
		return t.value()[start:end]
	}
	return append(out, t.value()[start:end]...)
}

func (c *cutter) parts(maxMessage int) []Batch {
	byPart := make([][]item, max(c.partitions, 1))
	for _, it := range c.items {
		byPart[it.part] = append(byPart[it.part], it)
	}
	var out []Batch
	for p, items := range byPart {
		for len(items) > 0 {
			n := c.fill(items, maxMessage)
			out = append(out, Batch{c.signal, p, c.assemble(items[:n]), n})
			items = items[n:]
		}
	}
	return out
}

// fill tells how many of the items fit into one request, at least one.
func (c *cutter) fill(items []item, maxMessage int) int {
	if maxMessage <= 0 {
		return len(items)
	}
	size, group, scope := 0, -1, -1
	for i, it := range items {
		if it.group != group {
			size += len(c.groups[it.group]) + frames
		}
		if it.scope != scope {
			size += len(c.scopes[it.scope]) + frames
		}
		size += len(it.raw)
		if size > maxMessage && i > 0 {
			return i
		}
		group, scope = it.group, it.scope
	}
	return len(items)
}

func (c *cutter) assemble(items []item) []byte {
	size := 0
	for rest := items; len(rest) > 0; {
		n, inner := c.groupSize(rest)
		size += 1 + protowire.SizeBytes(inner)
		rest = rest[n:]
	}
	out := make([]byte, 0, size)
	for len(items) > 0 {
		n, inner := c.groupSize(items)
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(inner))
		out = append(out, c.groups[items[0].group]...)
		out = c.appendScopes(out, items[:n])
		items = items[n:]
	}
	return out
}

// groupSize returns how many items from the first on share its group, and the encoded size of that group's content.
func (c *cutter) groupSize(items []item) (n, size int) {
	size = len(c.groups[items[0].group])
	for n < len(items) && items[n].group == items[0].group {
		m, inner := c.scopeSize(items[n:])
		size += 1 + protowire.SizeBytes(inner)
		n += m
	}
	return n, size
}

func (c *cutter) scopeSize(items []item) (n, size int) {
	size = len(c.scopes[items[0].scope])
	for n < len(items) && items[n].scope == items[0].scope {
		size += len(items[n].raw)
		n++
	}
	return n, size
}

func (c *cutter) appendScopes(out []byte, items []item) []byte {
	for len(items) > 0 {
		n, inner := c.scopeSize(items)
		out = protowire.AppendTag(out, 2, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(inner))
		out = append(out, c.scopes[items[0].scope]...)
		for _, it := range items[:n] {
			out = append(out, it.raw...)
		}
		items = items[n:]
	}
	return out
}

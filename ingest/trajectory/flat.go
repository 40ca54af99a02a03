package trajectory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// flat is a list whose items came in indexed keys ("llm.input_messages.7.message.role"), in order of index and field, so that what an earlier
// call had can be told without reading it again.
type flat []flatField

// flatField is one attribute of such a list: field is what follows the index in the key.
type flatField struct {
	index int
	field string
	value pcommon.Value
}

// flat collects the attributes under prefix ("llm.tools."). Indexes may come in any order and have holes; keys without a good index and empty
// values are left out.
func (a Attrs) flat(prefix string) flat {
	var all flat
	for k, v := range a {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok || v.Type() == pcommon.ValueTypeEmpty {
			continue
		}
		digits, field, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(digits)
		if err != nil || n > maxIndex || digits[0] < '0' || digits[0] == '0' && len(digits) > 1 {
			continue
		}
		if all == nil {
			all = make(flat, 0, min(len(a), 16))
		}
		all = append(all, flatField{n, field, v})
	}
	slices.SortFunc(all, func(x, y flatField) int {
		return cmp.Or(cmp.Compare(x.index, y.index), strings.Compare(x.field, y.field))
	})
	return all
}

// items are the list's items, each with its fields.
func (f flat) items() []Attrs {
	var out []Attrs
	for start := 0; start < len(f); {
		end := f.itemEnd(start)
		item := make(Attrs, end-start)
		for _, e := range f[start:end] {
			item[e.field] = e.value
		}
		out, start = append(out, item), end
	}
	return out
}

// itemEnd is where the item that begins at a position ends.
func (f flat) itemEnd(start int) int {
	end := start + 1
	for end < len(f) && f[end].index == f[start].index {
		end++
	}
	return end
}

// first is the list of the first item alone.
func (f flat) first() flat {
	if len(f) == 0 {
		return nil
	}
	return f[:f.itemEnd(0)]
}

// count is the number of items.
func (f flat) count() (n int) {
	for start := 0; start < len(f); start = f.itemEnd(start) {
		n++
	}
	return n
}

// after gives the items that a list has beyond one that it begins with.
func (f flat) after(prev flat) (flat, bool) {
	if len(prev) == 0 || len(f) < len(prev) {
		return nil, false
	}
	for i, e := range prev {
		if f[i].index != e.index || f[i].field != e.field || !sameValue(f[i].value, e.value) {
			return nil, false
		}
	}
	rest := f[len(prev):]
	if len(rest) > 0 && rest[0].index == prev[len(prev)-1].index {
		return nil, false // the last item has grown
	}
	return rest, true
}

func sameValue(a, b pcommon.Value) bool {
	if a.Type() == pcommon.ValueTypeStr && b.Type() == pcommon.ValueTypeStr {
		return a.Str() == b.Str()
	}
	return a.Equal(b)
}

// readFlat reads the messages of a history's items, which follow one of that role, and says whether nothing is missing in them.
func (h *History) readFlat(items flat, after string) (out []Message, whole bool) {
	whole = true
	if after != "" {
		out = append(out, Message{Role: after, Parts: []Part{{Kind: PartOther}}})
	}
	for _, it := range items.items() {
		m, ok := h.Item(it)
		if ok {
			out = append(out, m)
		}
		whole = whole && ok
	}
	out = settleRoles(out)
	if after != "" {
		out = out[1:]
	}
	return out, whole && !hasHoles(out)
}

// readInput reads an input that came in indexed keys, all of it.
func (f *Facts) readInput() {
	h := &f.Input
	if len(h.Flat) == 0 || h.Messages != nil {
		return
	}
	if ms, whole := h.readFlat(h.Flat, ""); !f.takeElse(whole) {
		h.Messages = ms
	}
}

// takeElse takes the other telling of the input, if there is one that tells more.
func (f *Facts) takeElse(whole bool) bool {
	if f.Input.Else == nil {
		return false
	}
	in, system, more := f.Input.Else(whole)
	if more {
		f.Input, f.System = in, cmp.Or(f.System, system)
	}
	return more
}

// readFlat reads what is new in an input that came in indexed keys, if one of the recent calls had its beginning. One that begins as an input
// which had holes has them too.
func (c *call) readFlat(recent []*call) bool {
	f := &c.node.facts
	all := f.Input.Flat
	for _, p := range slices.Backward(recent) {
		if _, ok := all.after(p.holes); ok && f.takeElse(false) {
			c.holes = all
			return false
		}
		rest, ok := all.after(p.node.facts.Input.Flat)
		if !ok {
			continue
		}
		fresh, whole := f.Input.readFlat(rest, p.lastRole())
		if f.takeElse(whole) {
			c.holes = all
			return false
		}
		c.fresh, c.base, c.size = fresh, p, p.size+len(fresh)
		return true
	}
	if f.readInput(); len(f.Input.Flat) == 0 {
		c.holes = all
	}
	return false
}

// lastRole is the role of the input's last message.
func (c *call) lastRole() string {
	for p := c; p != nil; p = p.base {
		part := p.fresh
		if p.base == nil {
			part = p.rest
		}
		if len(part) > 0 {
			return part[len(part)-1].Role
		}
	}
	return ""
}

// eachMessage is a history whose messages are seen through a function, however it is told.
func eachMessage(h History, see func([]Message) []Message) History {
	if item := h.Item; item != nil {
		h.Item = func(a Attrs) (Message, bool) {
			m, ok := item(a)
			return see([]Message{m})[0], ok
		}
	}
	if other := h.Else; other != nil {
		h.Else = func(whole bool) (History, string, bool) {
			in, system, more := other(whole)
			return eachMessage(in, see), system, more
		}
	}
	if h.Text != "" {
		parse := h.Parse
		if parse == nil {
			parse = ParseMessages
		}
		h.Parse = func(text string) []Message { return see(parse(text)) }
	}
	h.Messages = see(h.Messages)
	return h
}

package trajectory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxIndex caps the indexes in flattened keys ("llm.input_messages.7.message.role"). A larger one is an accident or an attack.
const maxIndex = 10_000

// indexed collects the attributes under prefix ("llm.tools.") by the index that follows it, in index order, each with the keys that are
// left after the index. Indexes may come in any order and have holes; keys without a good index and empty values are left out.
func (a Attrs) indexed(prefix string) []Attrs {
	type entry struct {
		index int
		field string
		value pcommon.Value
	}
	var all []entry
	for k, v := range a {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok || v.Type() == pcommon.ValueTypeEmpty {
			continue
		}
		digits, field, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > maxIndex || digits != strconv.Itoa(n) {
			continue
		}
		if all == nil {
			all = make([]entry, 0, min(len(a), 256))
		}
		all = append(all, entry{n, field, v})
	}
	slices.SortFunc(all, func(x, y entry) int { return cmp.Compare(x.index, y.index) })
	var out []Attrs
	for start := 0; start < len(all); {
		end := start
		for end < len(all) && all[end].index == all[start].index {
			end++
		}
		item := make(Attrs, end-start)
		for _, e := range all[start:end] {
			item[e.field] = e.value
		}
		out, start = append(out, item), end
	}
	return out
}

// requestedCall makes the part for a call whose pieces came in keys of their own.
func requestedCall(id, name, arguments string) Part {
	return Part{Kind: PartToolCall, ID: callID(id), Name: name, Value: ParseValue(arguments)}
}

// firstText returns the first of the keys that is there, and whether any is, be it an empty text.
func (a Attrs) firstText(keys ...string) (string, bool) {
	for _, k := range keys {
		if a.Has(k) {
			return a.Text(k), true
		}
	}
	return "", false
}

package trajectory

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxIndex caps the indexes in flattened keys ("llm.input_messages.7.message.role"). A larger one is an accident or an attack.
const maxIndex = 10_000

// indexed collects the attributes under prefix ("llm.tools.") by the index that follows it, in index order, each with the keys that are
// left after the index. Indexes may come in any order and have holes; keys without a good index and empty values are left out.
func (a Attrs) indexed(prefix string) []Attrs {
	var byIndex map[int]Attrs
	for k, v := range a {
		rest, ok := strings.CutPrefix(k, prefix)
		if !ok || !a.Has(k) {
			continue
		}
		digits, field, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > maxIndex {
			continue
		}
		if byIndex == nil {
			byIndex = map[int]Attrs{}
		}
		if byIndex[n] == nil {
			byIndex[n] = Attrs{}
		}
		byIndex[n][field] = v
	}
	out := make([]Attrs, 0, len(byIndex))
	for _, n := range slices.Sorted(maps.Keys(byIndex)) {
		out = append(out, byIndex[n])
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

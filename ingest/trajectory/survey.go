package trajectory

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// family is a beginning of attribute keys that some dialect names in Keys, and its bit.
type family struct {
	prefix string
	bit    uint64
}

// families holds them by their first byte: the test runs for every key of every span.
var families [256][]family

func familyOf(prefix string) uint64 {
	count := 0
	for _, fs := range families {
		for _, f := range fs {
			if f.prefix == prefix {
				return f.bit
			}
			count++
		}
	}
	f := family{prefix, 1 << (count % 64)} // two that share a bit cost a score too many, no more
	families[prefix[0]] = append(families[prefix[0]], f)
	return f.bit
}

// survey is what one look at all attributes of a span tells.
type survey struct {
	families uint64 // those that any of the keys belongs to
	foreign  int    // the first entry of foreign that a key is a mark of, len(foreign) when none is
	longest  string // the longest text, in bytes
	cut      int    // bytes of the longest text that begins as JSON and does not end so
}

func surveyOf(a Attrs) survey {
	s := survey{foreign: len(foreign)}
	for k, v := range a {
		if v.Type() == pcommon.ValueTypeStr {
			text := v.Str()
			if len(text) > len(s.longest) {
				s.longest = text
			}
			if len(text) > s.cut && beginsOnly(text) {
				s.cut = len(text)
			}
		}
		if k == "" {
			continue
		}
		for _, f := range families[k[0]] {
			if s.families&f.bit == 0 && strings.HasPrefix(k, f.prefix) {
				s.families |= f.bit
			}
		}
		for _, m := range foreignKeys[k[0]] {
			if m.entry < s.foreign && (k == m.key || !m.whole && strings.HasPrefix(k, m.key)) {
				s.foreign = m.entry
			}
		}
	}
	return s
}

// mayBe says whether a span has any of the marks without which it is not of the dialect.
func (d *Dialect) mayBe(s *Span, has uint64) bool {
	return d.needs == 0 || d.needs&has != 0 || slices.ContainsFunc(d.Scopes, func(scope string) bool { return strings.HasPrefix(s.Scope, scope) })
}

package trajectory

import "strings"

// foreign are the dialects that are known and not read yet, each by its strong marks: spans of theirs are never passed over in silence.
var foreign = []foreignMarks{
	{name: "anthropic-sdk", scopes: []string{"com.anthropic."}},
}

type foreignMarks struct {
	name   string
	scopes []string // scope names that begin so
	keys   []string // attributes that are there
	prefix []string // attributes that begin so
	spans  []string // span names that begin so
}

// foreignKeys holds the marks among attribute keys by their first byte: the test runs for every key of every span.
var foreignKeys = indexForeign()

type keyMark struct {
	key   string
	whole bool // the key itself, not just its beginning
	entry int  // in foreign
}

func indexForeign() (index [256][]keyMark) {
	for i, d := range foreign {
		for _, k := range d.keys {
			index[k[0]] = append(index[k[0]], keyMark{k, true, i})
		}
		for _, k := range d.prefix {
			index[k[0]] = append(index[k[0]], keyMark{k, false, i})
		}
	}
	return index
}

// foreignDialect names the dialect by whose marks a span speaks, when none of ours reads it; "" when there is no such mark. byKey is the entry
// of which its keys are marks.
func foreignDialect(s *Span, byKey int) string {
	for i := range foreign {
		d := &foreign[i]
		for _, p := range d.scopes {
			if strings.HasPrefix(s.Scope, p) {
				return d.name
			}
		}
		for _, p := range d.spans {
			if strings.HasPrefix(s.Name, p) {
				return d.name
			}
		}
	}
	if byKey == len(foreign) {
		return ""
	}
	return foreign[byKey].name
}

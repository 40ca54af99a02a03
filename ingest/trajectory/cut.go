package trajectory

import (
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// An SDK's limit on the length of values cuts every long text of a service at one length. A single broken text may be the model's own doing;
// several texts of one length, of which none parses, in a service that sends no longer one, were cut.

// minLimit is the least length that a limit is looked for at: shorter texts agree by chance.
const minLimit = 64

// cutValues finds the length at which each service's texts were cut and marks the values of that length.
func (b *builder) cutValues() {
	var limits map[string]int
	for _, n := range b.nodes {
		if n.survey.cut == 0 && !looksCut(n.span) {
			continue
		}
		service := n.span.Resource.Text("service.name")
		if _, known := limits[service]; known {
			continue
		}
		if limits == nil {
			limits = map[string]int{}
		}
		if limits[service] = b.limitOf(service, eventTexts); b.mayBeCut(service) {
			limits[service] = max(limits[service], b.limitOf(service, spanTexts))
		}
	}
	if limits == nil {
		return
	}
	for _, n := range b.nodes {
		limit := limits[n.span.Resource.Text("service.name")]
		if limit == 0 {
			continue
		}
		b.cut = true
		n.facts.readInput()
		n.facts.eachValue(func(v *Value) {
			if (v.Parsed == ParsedBroken || v.Parsed == ParsedText) && utf8.RuneCountInString(v.Raw) == limit {
				v.Truncated = true
			}
		})
	}
}

// eachValue visits the values that a span states as texts of their own.
func (f *Facts) eachValue(visit func(*Value)) {
	visit(&f.Arguments)
	visit(&f.Result)
	for _, ms := range [][]Message{f.Output, f.Input.Messages} {
		for i := range ms {
			for j := range ms[i].Parts {
				visit(&ms[i].Parts[j].Value)
			}
		}
	}
}

// looksCut says whether an event of a span has a long text that begins as JSON and does not end so.
func looksCut(s *Span) bool {
	for i := range s.Events {
		for text := range texts(s.Events[i].Attrs) {
			if beginsOnly(text) {
				return true
			}
		}
	}
	return false
}

// beginsOnly says that of a long text.

func beginsOnly(text string) bool {
	if len(text) < minLimit || text[0] != '{' && text[0] != '[' {
		return false
	}
	return text[len(text)-1] != text[0]+2 // ']' and '}' come two after their partners
}

func spanTexts(s *Span) iter.Seq[string] { return texts(s.Attrs) }

func eventTexts(s *Span) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range s.Events {
			for text := range texts(e.Attrs) {
				if !yield(text) {
					return
				}
			}
		}
	}
}

func texts(a Attrs) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, v := range a {
			if v.Type() == pcommon.ValueTypeStr && !yield(v.Str()) {
				return
			}
		}
	}
}

// mayBeCut says whether a text of the service that does not end as it began could be as long as its longest one.
func (b *builder) mayBeCut(service string) bool {
	longest, cut := "", 0
	for _, n := range b.nodes {
		if (len(n.survey.longest) > len(longest) || n.survey.cut > cut) && n.span.Resource.Text("service.name") == service {
			cut = max(cut, n.survey.cut)
			if len(n.survey.longest) > len(longest) {
				longest = n.survey.longest
			}
		}
	}
	return cut >= utf8.RuneCountInString(longest)
}

// limitOf is the length at which a service's texts were cut, 0 when they were not.
func (b *builder) limitOf(service string, texts func(*Span) iter.Seq[string]) int {
	longest := minLimit
	var same []string // the texts of that length
	for _, n := range b.nodes {
		if n.span.Resource.Text("service.name") != service {
			continue
		}
		for text := range texts(n.span) {
			if len(text) < longest {
				continue
			}
			if length := utf8.RuneCountInString(text); length > longest {
				longest, same = length, append(same[:0], text)
			} else if length == longest {
				same = append(same, text)
			}
		}
	}
	slices.Sort(same)
	same = slices.Compact(same)
	broken := 0
	for _, text := range same {
		switch {
		case jsontext.Value(text).IsValid(readOptions...):
			return 0
		case beginsOnly(text):
			broken++
		}
	}
	if broken == 0 || len(same) < 2 {
		return 0
	}
	return longest
}

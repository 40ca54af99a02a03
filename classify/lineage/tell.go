package lineage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// StoryKind is what a Story says of a failure's beginning.
type StoryKind string

// The kinds of story.
const (
	Changed    StoryKind = "changed"      // something was new when it began
	Unchanged  StoryKind = "unchanged"    // all that is told was there before
	SideBySide StoryKind = "side_by_side" // two versions, models or prompts alternate
	TooLittle  StoryKind = "too_little"   // too few traces came before
	ToldLate   StoryKind = "told_late"    // somebody told of it when later traces had come, too
	NotTold    StoryKind = "not_told"     // the traces do not say what produced them
)

// Story is what had changed when a failure began, in words and numbers.
type Story struct {
	Kind     StoryKind `json:"kind"`
	Sentence string    `json:"sentence"`
	Changes  []string  `json:"changes"` // what was new, one by one
}

// Tell makes the story of a beginning. spread is how the sightings lie, h the service's history as it is now, or nil; name renders a name or digest for where
// the story goes. A nil beginning has no story: its Sentence is "".
func (b *Began) Tell(spread Spread, h *History, name func(string) string) Story {
	if b == nil {
		return Story{Changes: []string{}}
	}
	t := teller{b, spread, nil, name}
	if h != nil {
		t.now = h.find(&AgentContext{Agent: b.Agent, Route: b.Route})
	}
	return t.story()
}

type teller struct {
	*Began
	spread Spread
	now    *AgentHistory
	name   func(string) string
}

// kinds in the order in which a story tells of them.
var kinds = []Kind{KindVersion, KindModel, KindPrompt, KindTool}

func (t teller) story() Story {
	s := Story{Changes: t.changes()}
	beside := t.beside()
	switch fresh := t.fresh(); {
	case len(t.Facets) == 0:
		s.Kind, s.Sentence = NotTold, "The traces do not tell what produced them: neither service.version nor model, prompt or tools."
	case t.Late:
		s.Kind, s.Changes = ToldLate, []string{}
		s.Sentence = fmt.Sprintf("It was told of after %s%s had come, itself among them: what had changed when it began is not known.", count(t.Traces, "trace"), t.of())
	case beside != "":
		s.Kind, s.Sentence, s.Changes = SideBySide, beside, []string{}
	case len(fresh) > 0:
		s.Kind, s.Sentence = Changed, t.began(fresh)
	case slices.ContainsFunc(t.Facets, Standing.same):
		s.Kind, s.Sentence = Unchanged, t.unchanged()
	default:
		s.Kind, s.Sentence = TooLittle, t.little()
	}
	return s
}

// fresh are the values that were new, in the order of kinds.
func (t teller) fresh() (out []Standing) {
	for _, k := range kinds {
		for _, s := range t.Facets {
			if s.Kind == k && s.changed() {
				out = append(out, s)
			}
		}
	}
	return out
}

func (t teller) changes() []string {
	out := []string{}
	for _, s := range t.fresh() {
		out = append(out, t.change(s))
	}
	return out
}

// change says what was new: "model b in place of a".
func (t teller) change(s Standing) string {
	switch s.Kind {
	case KindVersion:
		return "service.version " + t.name(s.Value) + t.instead(s)
	case KindModel:
		return "model " + t.name(s.Value) + t.instead(s)
	case KindPrompt:
		return "another prompt (" + t.name(s.Value) + t.instead(s) + ")"
	}
	return "a changed tool (" + t.name(s.Name) + " " + toolChange(s) + ")"
}

func (t teller) instead(s Standing) string {
	if s.Before == "" {
		return ""
	}
	return " in place of " + t.name(s.Before)
}

func toolChange(s Standing) string {
	switch {
	case s.Value == "":
		return "is gone"
	case s.Before == "":
		return "is new"
	}
	was, is := markOf(s.Before), markOf(s.Value)
	var parts []string
	if d := difference(was.Required, is.Required, "required field"); d != "" {
		parts = append(parts, d)
	}
	if d := difference(was.Fields, is.Fields, "field"); d != "" {
		parts = append(parts, d)
	}
	switch {
	case len(parts) > 0:
		return "takes other arguments (" + strings.Join(parts, ", ") + ")"
	case was.Schema != is.Schema && was.Schema != "" && is.Schema != "":
		return "takes other arguments"
	case was.Words != is.Words:
		return "is described otherwise"
	}
	return "is told of otherwise"
}

func difference(was, is int, noun string) string {
	switch {
	case is > was:
		return count(is-was, noun) + " more"
	case is < was:
		return count(was-is, noun) + " fewer"
	}
	return ""
}

// markOf reads what value wrote.
func markOf(value string) (m ToolMark) {
	parts := strings.Split(value, "/")
	if len(parts) != 4 {
		return m
	}
	m.Schema, m.Words = strings.Trim(parts[0], "-"), strings.Trim(parts[1], "-")
	fmt.Sscan(parts[2], &m.Fields)   // our own digits
	fmt.Sscan(parts[3], &m.Required) // our own digits
	return m
}

// began tells of new values: the first leads, with the numbers.
func (t teller) began(fresh []Standing) string {
	lead := fresh[0]
	var b strings.Builder
	fmt.Fprintf(&b, "It began with %s, ", t.change(lead))
	switch {
	case lead.Traces == 0:
		b.WriteString("on the first trace of it")
	case lead.Value == "":
		fmt.Fprintf(&b, "%s after the last that offered it", count(lead.Traces, "trace"))
	default:
		fmt.Fprintf(&b, "first seen %s before (%s)", span(t.When.Sub(lead.First)), count(lead.Traces, "trace"))
	}
	fmt.Fprintf(&b, "; %s%s before that had none of this.", count(lead.Others, "trace"), t.of())
	if had, all := t.spread.of(lead.Kind, lead.Value); all > 1 && had > 0 {
		fmt.Fprintf(&b, " %s on %s.", share(had, all), t.name(lead.Value))
	}
	if len(fresh) > 1 {
		var rest []string
		for _, s := range fresh[1:] {
			rest = append(rest, t.change(s))
		}
		fmt.Fprintf(&b, " Also new: %s.", list(rest))
	}
	return b.String()
}

// of names the agent that the numbers are of.
func (t teller) of() string {
	switch {
	case t.Agent != "":
		return " of " + t.name(t.Agent)
	case t.Route != "":
		return " of " + t.name(t.Route)
	}
	return ""
}

func (t teller) unchanged() string {
	var same, restless, untold []string
	least := t.Traces
	for _, k := range []Kind{KindVersion, KindModel, KindPrompt, KindToolset} {
		word := map[Kind]string{KindVersion: "service.version", KindModel: "model", KindPrompt: "prompt", KindToolset: "tools"}[k]
		of := slices.DeleteFunc(slices.Clone(t.Facets), func(s Standing) bool { return s.Kind != k })
		switch {
		case len(of) == 0:
			untold = append(untold, word)
		case of[0].Restless:
			restless = append(restless, word)
		case !slices.ContainsFunc(of, func(s Standing) bool { return !s.same() }):
			for _, s := range of {
				least = min(least, s.Traces)
			}
			if k == KindVersion || k == KindModel {
				word += " " + t.name(of[0].Value)
			}
			same = append(same, word)
		}
	}
	s := fmt.Sprintf("Nothing that pawl sees had changed: %s the same in %s%s before it, none of which had this.", list(same)+were(same), count(least, "trace"), t.of())
	if len(untold) > 0 {
		s += " Not told: " + list(untold) + "."
	}
	if len(restless) > 0 {
		s += " Different nearly from trace to trace: " + list(restless) + "."
	}
	return s
}

func were(words []string) string {
	if len(words) == 1 && words[0] != "tools" {
		return " was"
	}
	return " were"
}

func (t teller) little() string {
	if t.Traces == 0 {
		return fmt.Sprintf("No trace%s came before it: what had changed is not known.", t.of())
	}
	return fmt.Sprintf("Only %s%s came before it, in %s: too little to say what had changed.", count(t.Traces, "trace"), t.of(), span(t.When.Sub(t.First)))
}

// beside tells of two values that alternate now, where the failure's beginning would otherwise be laid on one of them; "" when none do.
func (t teller) beside() string {
	if t.now == nil {
		return ""
	}
	fresh := t.fresh()
	for _, k := range []Kind{KindVersion, KindModel, KindPrompt} {
		f := t.now.facet(k, "")
		if f == nil || f.restless() || len(fresh) > 0 && !slices.ContainsFunc(fresh, func(s Standing) bool { return s.Kind == k }) {
			continue
		}
		at := slices.DeleteFunc(slices.Clone(f.Seen), func(s Seen) bool { return !s.atWork(t.now.Traces) })
		if len(at) < 2 {
			continue
		}
		slices.SortFunc(at, func(x, y Seen) int { return cmp.Or(cmp.Compare(y.Traces, x.Traces), cmp.Compare(x.Value, y.Value)) })
		return t.alternate(k, at)
	}
	return ""
}

// maxBeside is how many alternating values are named.
const maxBeside = 3

func (t teller) alternate(k Kind, at []Seen) string {
	var values []string
	for _, s := range at[:min(len(at), maxBeside)] {
		had, all := t.spread.of(k, s.Value)
		values = append(values, fmt.Sprintf("%s in %s with %d of %s", t.name(s.Value), count(s.Traces, "trace"), had, count(all, "sighting")))
	}
	word := map[Kind]string{KindVersion: "service.version", KindModel: "models", KindPrompt: "prompts"}[k]
	return fmt.Sprintf("At work side by side%s: %s %s. So no one beginning is told.", t.of(), word, list(values))
}

func share(had, all int) string {
	switch {
	case had == all:
		return fmt.Sprintf("All %d sightings are", all)
	case had == 1:
		return fmt.Sprintf("1 of %d sightings is", all)
	}
	return fmt.Sprintf("%d of %d sightings are", had, all)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// span tells a duration in its greatest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return count(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int(d/time.Hour), "hour")
	}
	return count(int(d/(24*time.Hour)), "day")
}

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
)

// hit is one finding of a backtest, as --json prints it.
type hit struct {
	Kind        string              `json:"kind"` // hit
	Rule        string              `json:"rule"`
	TraceID     string              `json:"trace_id"`
	Service     string              `json:"service"`
	Fingerprint string              `json:"fingerprint"`
	Severity    classify.Severity   `json:"severity"`
	Why         string              `json:"why"`
	Evidence    []classify.Evidence `json:"evidence"`
	Standing    standing            `json:"standing"`
	Others      []classify.Label    `json:"others"` // what other rules find on the trace
}

// standing is how a hit stands to what is known of its trace without the rule.
type standing string

const (
	standsKnown      standing = "known"      // another rule finds something at the same span
	standsNew        standing = "new"        // the trace fails by another rule, elsewhere
	standsExplains   standing = "explains"   // the trace went wrong, and no other rule says how
	standsPassing    standing = "passing"    // the trace passes without the rule: a new catch, or a false alarm
	standsIncomplete standing = "incomplete" // the trace is not whole
)

// miss is a trace of which the rule could judge and said nothing, as --json prints it.
type miss struct {
	Kind    string `json:"kind"` // miss
	Rule    string `json:"rule"`
	TraceID string `json:"trace_id"`
	Service string `json:"service"`
	Known   known  `json:"known"`
}

// known is what is known of a missed trace.
type known string

const (
	knownLabel       known = "label"       // another rule gives it the rule's label
	knownUnexplained known = "unexplained" // it went wrong, and no rule says how
)

// tally is a rule's whole backtest, as --json prints it.
type tally struct {
	Kind         string         `json:"kind"` // rule
	Rule         string         `json:"rule"`
	Traces       int            `json:"traces"`
	Judged       int            `json:"judged"`
	Hits         int            `json:"hits"`
	Groups       int            `json:"groups"` // fingerprints
	Standing     map[string]int `json:"standing"`
	Misses       map[string]int `json:"misses"`       // by what is known of them
	Inapplicable map[string]int `json:"inapplicable"` // traces, by what they lack
}

// maxListed bounds what is shown of each kind of hit and miss: the rest is counted.
const maxListed = 50

// trial compares what is found with a rule and without it, trace by trace. Its memory does not grow with the traces.
type trial struct {
	tally
	label  classify.Label
	groups map[string]bool
	hits   map[standing][]hit // the first maxListed
	misses map[known][]miss
}

func newTrial(r classify.Rule) *trial {
	return &trial{tally: tally{Kind: "rule", Rule: r.ID(), Standing: map[string]int{}, Misses: map[string]int{}, Inapplicable: map[string]int{}},
		label: r.Label, groups: map[string]bool{}, hits: map[standing][]hit{}, misses: map[known][]miss{}}
}

// take adds a trace and gives what the rule says of it: hits or a miss.
func (t *trial) take(with, without judged) (lines []any) {
	t.Traces++
	for _, f := range with.report.Findings {
		if f.Rule == t.Rule {
			lines = append(lines, t.hit(f, with, without))
		}
	}
	if n := slices.IndexFunc(with.report.Inapplicable, func(x classify.Inapplicable) bool { return x.Rule == t.Rule }); n >= 0 {
		t.Inapplicable[string(with.report.Inapplicable[n].Missing)]++
		return lines
	}
	t.Judged++
	if what := t.missed(without.report); len(lines) == 0 && what != "" {
		m := miss{"miss", t.Rule, with.trace.ID, with.trajectory.Service, what}
		t.Misses[string(what)]++
		if len(t.misses[what]) < maxListed {
			t.misses[what] = append(t.misses[what], m)
		}
		lines = append(lines, m)
	}
	return lines
}

func (t *trial) hit(f classify.Finding, with, without judged) hit {
	h := hit{"hit", t.Rule, with.trace.ID, with.trajectory.Service, f.Fingerprint.ID(), f.Severity, f.Why, f.Evidence, standingOf(f, without.report), []classify.Label{}}
	for _, other := range without.report.Findings {
		if !slices.Contains(h.Others, other.Label) {
			h.Others = append(h.Others, other.Label)
		}
	}
	t.groups[h.Fingerprint] = true
	t.Hits, t.Groups = t.Hits+1, len(t.groups)
	t.Standing[string(h.Standing)]++
	if len(t.hits[h.Standing]) < maxListed {
		t.hits[h.Standing] = append(t.hits[h.Standing], h)
	}
	return h
}

// missed is what is known of a trace, without the rule, of which it might have said something; "" where that is nothing.
func (t *trial) missed(without classify.Report) known {
	switch {
	case slices.ContainsFunc(without.Findings, func(f classify.Finding) bool { return f.Label == t.label }):
		return knownLabel
	case without.Verdict == classify.Unclassified:
		return knownUnexplained
	}
	return ""
}

func standingOf(f classify.Finding, without classify.Report) standing {
	switch without.Verdict {
	case classify.Passing:
		return standsPassing
	case classify.Unclassified:
		return standsExplains
	case classify.Incomplete:
		return standsIncomplete
	}
	for _, other := range without.Findings {
		for _, e := range other.Evidence {
			if slices.ContainsFunc(f.Evidence, func(own classify.Evidence) bool { return own.SpanID == e.SpanID }) {
				return standsKnown
			}
		}
	}
	return standsNew
}

var standingWords = []struct {
	is   standing
	word string
}{
	{standsPassing, "on traces that pass without it: new catches, or false alarms"},
	{standsExplains, "on traces that went wrong unexplained"},
	{standsNew, "on traces that fail by other rules, at other spans"},
	{standsKnown, "where other rules find something too"},
	{standsIncomplete, "on traces that are not whole"},
}

var knownWords = []struct {
	is   known
	word string
}{
	{knownLabel, "of its label, which another rule gives"},
	{knownUnexplained, "of traces that went wrong and stay unexplained"},
}

func (t *trial) text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s of %s that it could judge\n", t.Rule, plural(t.Hits, "hit"), plural(t.Groups, "group"), plural(t.Judged, "trace"))
	for _, s := range standingWords {
		n := t.Standing[string(s.is)]
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %d %s\n", n, s.word)
		for _, h := range t.hits[s.is] {
			b.WriteString(indent(h.TraceID+" "+h.Fingerprint+": "+shown(h.Why), "      ", width))
		}
		more(&b, n, len(t.hits[s.is]))
	}
	for _, k := range knownWords {
		n := t.Misses[string(k.is)]
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s %s\n", misses(n), k.word)
		for _, m := range t.misses[k.is] {
			b.WriteString(indent(m.TraceID+" "+shown(m.Service), "      ", width))
		}
		more(&b, n, len(t.misses[k.is]))
	}
	for _, fact := range slices.Sorted(maps.Keys(t.Inapplicable)) {
		fmt.Fprintf(&b, "  inapplicable to %s: no %s\n", plural(t.Inapplicable[fact], "trace"), fact)
	}
	return b.String()
}

func misses(n int) string {
	if n == 1 {
		return "1 miss"
	}
	return fmt.Sprintf("%d misses", n)
}

// more says how many were not listed.
func more(b *strings.Builder, n, listed int) {
	if n > listed {
		fmt.Fprintf(b, "      and %d more: --json prints them all\n", n-listed)
	}
}

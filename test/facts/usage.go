package main

import (
	"cmp"
	"slices"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// usage: call by call what the raw attributes tell, and in S12 what the provider billed.
func (j *judged) usage() {
	if j.of.total != nil {
		j.totals()
		return
	}
	var want, got []usage
	for _, s := range j.raw.spans {
		if !j.of.model(s) {
			continue
		}
		if u, ok := j.of.usageOf(s); ok {
			want = append(want, u)
		}
	}
	for _, t := range j.pawl.all {
		for _, m := range t.ModelCalls {
			if m.Usage.Input != nil || m.Usage.Output != nil {
				got = append(got, fromPawl(m.Usage))
			}
		}
		for _, a := range t.AgentTotals {
			got = append(got, fromPawl(a.Usage))
		}
	}
	sortUsage(want)
	sortUsage(got)
	if j.scenario == "S12" && !j.of.estimates && len(want) > 0 && !j.sameBill(want) {
		j.wrong(tokens, j.scenario, "the raw reader sees %v, the provider billed %v", want, billed)
	}
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, w.same)
		if i < 0 && j.scenario == "S12" { // details told elsewhere than on the call's span
			i = slices.IndexFunc(left, func(g usage) bool { return w.completed().same(g) })
		}
		if i < 0 {
			j.wrong(tokens, j.scenario, "%v, got %v", w, got)
			continue
		}
		left = slices.Delete(left, i, i+1)
		j.right(tokens, 1)
	}
	if len(got) > len(want) {
		j.wrong(tokens, j.scenario, "%v is in no span of a model call", left)
	}
	j.absent(tokens, max(0, j.run.answered-len(want)), j.scenario, "%d of %d answers tell no usage", j.run.answered-len(want), j.run.answered)
}

// totals: the emitter tells the usage of a run as a whole, one item a run.
func (j *judged) totals() {
	var want, got usage
	told := 0
	for _, s := range j.raw.spans {
		if !j.of.total(s) || s.parent != "" {
			continue
		}
		if u, ok := j.of.usageOf(s); ok {
			want, told = want.plus(u), told+1
		}
	}
	for _, t := range j.pawl.all {
		for _, m := range t.ModelCalls {
			if !m.InTotal {
				got = got.plus(fromPawl(m.Usage))
			}
		}
		for _, a := range t.AgentTotals {
			got = got.plus(fromPawl(a.Usage))
		}
	}
	if told == 0 && got == (usage{}) {
		j.absent(tokens, 1, j.scenario, "no span tells usage")
		return
	}
	j.judge(tokens, j.scenario, want.same(got), yes, "%v, got %v", want, got)
}

func (u usage) plus(o usage) usage {
	return usage{u.in + max(0, o.in), u.out + max(0, o.out), u.cached + max(0, o.cached), u.reasoning + max(0, o.reasoning)}
}

// same compares counts. A detail of 0 and one that is not told are alike.
func (u usage) same(o usage) bool {
	return u.in == o.in && u.out == o.out && max(u.cached, 0) == max(o.cached, 0) && max(u.reasoning, 0) == max(o.reasoning, 0)
}

// completed adds the details that the provider billed and the span leaves out.
func (u usage) completed() usage {
	for _, b := range billed {
		if b.in == u.in && b.out == u.out {
			return b
		}
	}
	return u
}

// sameBill compares what the raw reader sees with what the provider billed; details may be left out.
func (j *judged) sameBill(want []usage) bool {
	return slices.EqualFunc(want, billed, func(a, b usage) bool {
		if j.of.thoughts {
			b.out += b.reasoning
		}
		return a.in == b.in && a.out == b.out && (a.cached < 0 || a.cached == b.cached) && (a.reasoning < 0 || a.reasoning == b.reasoning)
	})
}

func sortUsage(list []usage) {
	slices.SortFunc(list, func(a, b usage) int { return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.out, b.out)) })
}

func fromPawl(u trajectory.Usage) usage {
	n := func(p *int64) float64 {
		if p == nil {
			return -1
		}
		return float64(*p)
	}
	return usage{n(u.Input), n(u.Output), n(u.CacheRead), n(u.Reasoning)}
}

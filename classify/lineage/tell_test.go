package lineage

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// past takes runs, one a minute.
type past struct {
	History
	n int
}

func (p *past) now() time.Time { return start.Add(time.Duration(p.n) * time.Minute) }

func (p *past) run(times int, c Context) {
	for range times {
		p.Take(c, false, p.now())
		p.n++
	}
}

func ran(version string, change ...func(*AgentContext)) Context {
	a := AgentContext{Agent: "support", Prompts: []string{"aaaaaaaaaaaa"}, Models: []string{"gpt-4o"},
		Tools: []ToolMark{{"get_order", "s1", "w1", 1, 1}, {"search", "s2", "w2", 2, 1}}}
	for _, f := range change {
		f(&a)
	}
	return Context{Version: version, Agents: []AgentContext{a}}
}

func tools(marks ...ToolMark) func(*AgentContext) { return func(a *AgentContext) { a.Tools = marks } }

func prompt(digests ...string) func(*AgentContext) {
	return func(a *AgentContext) { a.Prompts = digests }
}

func model(name string) func(*AgentContext) {
	return func(a *AgentContext) { a.Models = []string{name} }
}

func plain(s string) string { return s }

func TestStories(t *testing.T) {
	twice := func(p *past, c Context) (*Began, Spread) { // sighted now and again at once
		b := p.Before(c, "support", p.now())
		var s Spread
		s.Add(c, "support", 1)
		s.Add(c, "support", 1)
		p.run(2, c)
		return b, s
	}
	for name, c := range map[string]struct {
		runs func(*past) (*Began, Spread)
		kind StoryKind
		want []string
		not  []string
	}{
		"new version": {func(p *past) (*Began, Spread) {
			p.run(312, ran("1.4.1"))
			p.run(40, ran("1.4.2"))
			return twice(p, ran("1.4.2"))
		}, Changed, []string{"service.version 1.4.2 in place of 1.4.1, first seen 40 minutes before (40 traces); 312 traces of support before that had none of this", "All 2 sightings are on 1.4.2"}, []string{"because", "prompt", "tool"}},
		"first trace of a version": {func(p *past) (*Began, Spread) {
			p.run(30, ran("1.4.1"))
			return twice(p, ran("1.4.2"))
		}, Changed, []string{"in place of 1.4.1, on the first trace of it; 30 traces"}, nil},
		"tool takes one field more": {func(p *past) (*Began, Spread) {
			p.run(100, ran("1"))
			return twice(p, ran("1", tools(ToolMark{"get_order", "s9", "w1", 2, 2}, ToolMark{"search", "s2", "w2", 2, 1})))
		}, Changed, []string{"a changed tool (get_order takes other arguments (1 required field more, 1 field more)), on the first trace of it; 100 traces"}, []string{"search"}},
		"tools new, gone and described otherwise": {func(p *past) (*Began, Spread) {
			p.run(100, ran("1"))
			p.run(3, ran("2", tools(ToolMark{"get_order", "s1", "w9", 1, 1}, ToolMark{"refund", "s3", "w3", 1, 1})))
			return twice(p, ran("2", tools(ToolMark{"get_order", "s1", "w9", 1, 1}, ToolMark{"refund", "s3", "w3", 1, 1})))
		}, Changed, []string{"service.version 2 in place of 1", "a changed tool (get_order is described otherwise", "a changed tool (refund is new", "a changed tool (search is gone"}, nil},
		"schemas that are told now and then": {func(p *past) (*Began, Spread) {
			names := ran("1", tools(ToolMark{Name: "get_order"}, ToolMark{Name: "search"}))
			for range 30 {
				p.run(1, ran("1"))
				p.run(1, names)
			}
			return twice(p, names)
		}, Unchanged, []string{"tools were the same in 60 traces"}, []string{"changed tool"}},
		"schemas for the first time": {func(p *past) (*Began, Spread) {
			p.run(60, ran("1", tools(ToolMark{Name: "get_order"}, ToolMark{Name: "search"})))
			return twice(p, ran("1"))
		}, Unchanged, nil, []string{"changed tool"}},
		"model": {func(p *past) (*Began, Spread) {
			p.run(60, ran("1"))
			p.run(5, ran("1", model("gpt-5")))
			return twice(p, ran("1", model("gpt-5")))
		}, Changed, []string{"model gpt-5 in place of gpt-4o, first seen 5 minutes before (5 traces)"}, []string{"service.version"}},
		"prompt": {func(p *past) (*Began, Spread) {
			p.run(60, ran(""))
			return twice(p, ran("", prompt("bbbbbbbbbbbb")))
		}, Changed, []string{"another prompt (bbbbbbbbbbbb in place of aaaaaaaaaaaa)"}, nil},
		"nothing": {func(p *past) (*Began, Spread) {
			p.run(200, ran("1"))
			return twice(p, ran("1"))
		}, Unchanged, []string{"service.version 1, model gpt-4o, prompt and tools were the same in 200 traces of support before it"}, nil},
		"nothing, and no version": {func(p *past) (*Began, Spread) {
			p.run(200, ran(""))
			return twice(p, ran(""))
		}, Unchanged, []string{"in 200 traces", "Not told: service.version"}, nil},
		"nothing lately": {func(p *past) (*Began, Spread) {
			p.run(400, ran("1"))
			p.run(70, ran("2"))
			return twice(p, ran("2"))
		}, Unchanged, []string{"service.version 2", "in 70 traces"}, nil},
		"first of all": {func(p *past) (*Began, Spread) { return twice(p, ran("1")) }, TooLittle, []string{"No trace of support came before it"}, nil},
		"little": {func(p *past) (*Began, Spread) {
			p.run(3, ran("1"))
			return twice(p, ran("2"))
		}, TooLittle, []string{"Only 3 traces of support came before it, in 3 minutes"}, []string{"service.version"}},
		"canary": {func(p *past) (*Began, Spread) {
			p.run(100, ran("1"))
			b, s := twice(p, ran("2"))
			for range 6 {
				p.run(19, ran("1"))
				p.run(1, ran("2"))
			}
			return b, s
		}, SideBySide, []string{"service.version 1 in 214 traces with 0 of 2 sightings and 2 in 8 traces with 2 of 2 sightings"}, []string{"It began"}},
		"rolling deploy that is over": {func(p *past) (*Began, Spread) {
			p.run(100, ran("1"))
			for range 5 {
				p.run(1, ran("2"))
				p.run(1, ran("1"))
			}
			b, s := twice(p, ran("2"))
			p.run(200, ran("2"))
			return b, s
		}, Changed, []string{"service.version 2 in place of 1, first seen 10 minutes before (5 traces)"}, []string{"Side by side"}},
		"prompts that differ from trace to trace": {func(p *past) (*Began, Spread) {
			for i := range 100 {
				p.run(1, ran("1", prompt(fmt.Sprintf("%012d", i))))
			}
			return twice(p, ran("1", prompt("ffffffffffff")))
		}, Unchanged, []string{"service.version 1", "Different nearly from trace to trace: prompt"}, []string{"another prompt"}},
		"a tool that is offered now and then": {func(p *past) (*Began, Spread) {
			rare := ran("1", tools(ToolMark{"get_order", "s1", "w1", 1, 1}, ToolMark{"rare", "r", "r", 1, 1}, ToolMark{"search", "s2", "w2", 2, 1}))
			for range 10 {
				p.run(19, ran("1"))
				p.run(1, rare)
			}
			return twice(p, rare)
		}, Unchanged, nil, []string{"rare"}},
		"untold": {func(p *past) (*Began, Spread) {
			c := Context{Agents: []AgentContext{{Agent: "support"}}}
			p.run(100, c)
			return twice(p, c)
		}, NotTold, []string{"do not tell"}, nil},
		"another agent's prompt": {func(p *past) (*Began, Spread) {
			with := func(promptOf string) Context {
				c := ran("1")
				c.Agents = append([]AgentContext{{Agent: "triage", Prompts: []string{promptOf}, Models: []string{"m"}}}, c.Agents...)
				return c
			}
			p.run(100, with("p1"))
			return twice(p, with("p2"))
		}, Changed, []string{"another prompt (p2 in place of p1), on the first trace of it; 100 traces of triage"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p past
			b, spread := c.runs(&p)
			got := b.Tell(spread, &p.History, plain)
			if got.Kind != c.kind {
				t.Errorf("kind %s, want %s: %s", got.Kind, c.kind, got.Sentence)
			}
			for _, w := range c.want {
				if !strings.Contains(got.Sentence, w) {
					t.Errorf("%q lacks %q", got.Sentence, w)
				}
			}
			for _, w := range c.not {
				if strings.Contains(got.Sentence, w) {
					t.Errorf("%q has %q", got.Sentence, w)
				}
			}
			t.Log(got.Sentence)
		})
	}
}

// What somebody told of late is not laid on what had come before: those that came after it were counted, too.
func TestToldLate(t *testing.T) {
	b := &Began{Agent: "support", Traces: 250, Late: true, Facets: []Standing{{Kind: KindModel, Value: "b", Before: "a", Traces: 1, Others: 249}}}
	got := b.Tell(nil, nil, plain)
	if want := "It was told of after 250 traces of support had come, itself among them: what had changed when it began is not known."; got.Kind != ToldLate || got.Sentence != want || len(got.Changes) != 0 {
		t.Errorf("%+v, want %q", got, want)
	}
}

func TestNoStoryWithoutBeginning(t *testing.T) {
	if s := (*Began)(nil).Tell(nil, nil, plain); s.Sentence != "" {
		t.Errorf("%+v", s)
	}
}

// Whatever comes, a history stays small.
func TestHistoryIsBounded(t *testing.T) {
	var p past
	for i := range 300 {
		var marks []ToolMark
		for j := range 60 {
			marks = append(marks, ToolMark{fmt.Sprintf("tool_%03d_%s", (i+j)%90, strings.Repeat("x", 80)), fmt.Sprint(i), "w", 1, 1})
		}
		slices.SortFunc(marks, func(x, y ToolMark) int { return strings.Compare(x.Name, y.Name) })
		c := Context{Version: strings.Repeat("v", 90) + fmt.Sprint(i)}
		for j := range 5 {
			c.Agents = append(c.Agents, AgentContext{Agent: fmt.Sprint("agent", (i+j)%20), Tools: marks, Models: []string{fmt.Sprint("m", i)}, Prompts: []string{fmt.Sprint("p", i)}})
		}
		p.run(1, c)
		p.Before(c, "agent1", p.now())
	}
	doc, err := json.Marshal(p.History, json.Deterministic(true))
	if err != nil || len(doc) > 40<<10 {
		t.Errorf("%d bytes, %v", len(doc), err)
	}
	t.Log(len(doc), "bytes,", len(p.Agents), "agents")
}

func TestSpread(t *testing.T) {
	var s Spread
	for i := range 20 {
		s.Add(ran(fmt.Sprint(i%10)), "support", 1)
	}
	if _, all := s.of(KindVersion, ""); all != 20 || s.kinds(KindVersion) > maxValues+1 {
		t.Errorf("%d sightings in %v", all, s)
	}
	for i := range 20 {
		s.Add(ran(fmt.Sprint(i%10)), "support", -1)
	}
	if len(s) != 0 {
		t.Errorf("left: %v", s)
	}
}

func BenchmarkHistory(b *testing.B) {
	var p past
	c := ran("1")
	for b.Loop() {
		p.run(1, c)
		p.Before(c, "support", p.now())
	}
}

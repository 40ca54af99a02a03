package change

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// Twins returns what leaves every failure what it is: other ids, another time, another customer, other volatile fields, another order of what one
// turn asked for, an unrelated healthy step before.
func Twins() []classify.Twin {
	return []classify.Twin{
		Twin("other-ids", "the trace, its session, spans and calls have other ids", func(t *Trajectory, _ Finding) bool { otherIDs(t); return true }),
		Twin("other-time", "it happened four days later", func(t *Trajectory, _ Finding) bool { laterBy(t, 91*time.Hour); return true }),
		Twin("other-customer", "the things that it is about have other numbers", func(t *Trajectory, _ Finding) bool { return otherNumbers(t) }),
		Twin("other-volatile", "results carry other request ids and times of day", func(t *Trajectory, _ Finding) bool { return otherVolatile(t) }),
		Twin("other-order", "what one model call asked for was done in another order", func(t *Trajectory, _ Finding) bool { return otherOrder(t) }),
		Twin("healthy-step", "an unrelated call that went well came first", func(t *Trajectory, _ Finding) bool { return healthyStep(t) }),
	}
}

// otherIDs changes every id consistently: equal ids stay equal.
func otherIDs(t *Trajectory) {
	other := func(ids ...*string) {
		for _, id := range ids {
			if *id != "" {
				*id = "other-" + *id
			}
		}
	}
	other(&t.TraceID, &t.SessionID, &t.UserID)
	for i := range t.Traces {
		other(&t.Traces[i])
	}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		other(&m.SpanID, &m.TraceID, &m.ResponseID)
		for j := range m.New {
			for k := range m.New[j].Parts {
				other(&m.New[j].Parts[k].ID)
			}
		}
	}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		other(&c.SpanID, &c.TraceID, &c.RequestSpanID, &c.ResultSpanID, &c.ID)
	}
	for i := range t.Handoffs {
		other(&t.Handoffs[i].SpanID, &t.Handoffs[i].TraceID)
	}
	for i := range t.AgentTotals {
		other(&t.AgentTotals[i].SpanID)
	}
	for i := range t.Steps {
		other(&t.Steps[i].SpanID, &t.Steps[i].TraceID)
	}
}

func laterBy(t *Trajectory, d time.Duration) {
	times := []*time.Time{&t.Start, &t.End}
	for i := range t.ModelCalls {
		times = append(times, &t.ModelCalls[i].Start, &t.ModelCalls[i].End)
	}
	for i := range t.ToolCalls {
		times = append(times, &t.ToolCalls[i].Start, &t.ToolCalls[i].End)
	}
	for i := range t.Handoffs {
		times = append(times, &t.Handoffs[i].Start)
	}
	for i := range t.Steps {
		times = append(times, &t.Steps[i].Start, &t.Steps[i].End)
	}
	for _, at := range times {
		if !at.IsZero() {
			*at = at.Add(d)
		}
	}
}

// eachText replaces every text of the trajectory that a user, a model or a tool wrote, arguments and results included, and says whether any
// changed. Names, ids and the tools on offer stay.
func eachText(t *Trajectory, change func(string) string) bool {
	changed := false
	text := func(s *string) {
		if n := change(*s); n != *s {
			*s, changed = n, true
		}
	}
	value := func(v *trajectory.Value) {
		text(&v.Raw)
		if v.JSON != nil {
			if n := jsontext.Value(change(string(v.JSON))); string(n) != string(v.JSON) && n.Canonicalize() == nil {
				v.JSON = n
			}
		}
	}
	fault := func(e *trajectory.Error) {
		if e != nil {
			text(&e.Message)
		}
	}
	if t.Reply != nil {
		text(t.Reply)
	}
	text(&t.SystemPrompt)
	fault(t.RootError)
	for i := range t.UserMessages {
		text(&t.UserMessages[i])
	}
	for i := range t.Steps {
		text(&t.Steps[i].Text)
	}
	for i := range t.ModelCalls {
		m := &t.ModelCalls[i]
		text(&m.Text)
		text(&m.System)
		fault(m.Error)
		for j := range m.New {
			for k := range m.New[j].Parts {
				text(&m.New[j].Parts[k].Text)
				value(&m.New[j].Parts[k].Value)
			}
		}
	}
	for i := range t.ToolCalls {
		value(&t.ToolCalls[i].Arguments)
		value(&t.ToolCalls[i].Result)
		fault(t.ToolCalls[i].Error)
	}
	return changed
}

// numbered are names of things by a kind and a number, as businesses give them: ORD-10231.
var numbered = regexp.MustCompile(`\b[A-Z]{2,6}-[0-9]{4,}\b`)

// otherNumbers gives every such thing another number, of as many digits; equal ones stay equal and different ones different.
func otherNumbers(t *Trajectory) bool {
	return eachText(t, func(s string) string {
		return numbered.ReplaceAllStringFunc(s, func(name string) string {
			return strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return '0' + (r-'0'+3)%10
				}
				return r
			}, name)
		})
	})
}

// clock is a time of day after a date, and request is a member that names the request; neither means anything.
var (
	clock   = regexp.MustCompile(`\b(\d{4}-\d\d-\d\d[T ])\d\d:\d\d:\d\d`)
	request = regexp.MustCompile(`("(?:request_id|requestId|trace_id|traceId|correlation_id|correlationId)":\s*")[^"\\]{1,80}"`)
)

// otherVolatile changes what results say of the request and the time of day, each differently.
func otherVolatile(t *Trajectory) bool {
	n := 0
	another := func(s string) string {
		s = clock.ReplaceAllStringFunc(s, func(at string) string {
			n++
			return at[:11] + fmt.Sprintf("%02d:%02d:%02d", n%24, (n*7)%60, (n*13)%60)
		})
		return request.ReplaceAllStringFunc(s, func(m string) string {
			n++
			return request.FindStringSubmatch(m)[1] + fmt.Sprintf("req-%d", n) + `"`
		})
	}
	for i := range t.ToolCalls {
		r := &t.ToolCalls[i].Result
		if raw := another(r.Raw); raw != r.Raw {
			*r = trajectory.ParseValue(raw)
		}
	}
	return n > 0
}

// otherOrder reverses the calls of each model turn whose steps follow each other. Of equal calls the first may be why there is a second: their
// order stays.
func otherOrder(t *Trajectory) bool {
	changed := false
	for from := 0; from < len(t.Steps); {
		to := from + 1
		for to < len(t.Steps) && sameTurn(t, from, to) {
			to++
		}
		if to-from > 1 && distinct(t, t.Steps[from:to]) {
			slices.Reverse(t.Steps[from:to])
			changed = true
		}
		from = to
	}
	return changed
}

// distinct says that no two of the calls are equal.
func distinct(t *Trajectory, steps []trajectory.Step) bool {
	seen := map[string]bool{}
	for _, s := range steps {
		c := &t.ToolCalls[s.Index]
		seen[c.Name+" "+cmp.Or(string(c.Arguments.JSON), c.Arguments.Raw)] = true
	}
	return len(seen) == len(steps)
}

func sameTurn(t *Trajectory, a, b int) bool {
	x, y := t.Steps[a], t.Steps[b]
	if x.Kind != trajectory.StepTool || y.Kind != trajectory.StepTool {
		return false
	}
	m := t.ToolCalls[x.Index].Model
	return m >= 0 && m == t.ToolCalls[y.Index].Model
}

// healthyStep puts a call that went well before everything else that the agent did.
func healthyStep(t *Trajectory) bool {
	step := slices.IndexFunc(t.Steps, func(s trajectory.Step) bool { return s.Kind == trajectory.StepModel || s.Kind == trajectory.StepTool })
	if step < 0 || t.Steps[step].Kind == trajectory.StepTool {
		return false // before what is history already there is no place
	}
	Insert(t, step, Call{Tool: "list_opening_hours", Result: `{"monday":"9 to 5"}`, Agent: t.Steps[step].Agent})
	return true
}

package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet/match"
)

// liveness holds the run to the least that it must do.
func (b *bench) liveness() {
	l := b.c.Expect.Liveness
	if l.NoError {
		b.noError()
	}
	if l.Reply {
		b.replied()
	}
	b.called(l.Calls)
}

func (b *bench) noError() {
	for _, t := range b.r.parts {
		e := t.RootError
		if e == nil {
			continue
		}
		what := strings.Join(strings.Fields(cmp.Or(e.Message, e.Type, "no message")), " ")
		b.errored = true
		b.fails("the run ended in an error: "+shorten(what), match.Mismatch{Step: len(t.Steps) - 1, Field: "liveness/no_error", Expected: "no error", Got: shorten(what)})
	}
	last := b.last()
	switch {
	case last.Complete.HasRoot || last.RootError != nil:
	case replyOf(last) != "": // a caller that sends no spans of its own holds the root, and the run went well as far as it goes
		b.note("the root span is not in the trace, so an error on it would not be seen")
	default:
		b.unsure("whether the run ended in an error is not known: root span is missing: " + remedy(last, trajectory.FactRoot))
	}
}

// last is the trace in which the run ended.
func (b *bench) last() *trajectory.Trajectory {
	for _, t := range slices.Backward(b.r.parts) {
		if t.IsAgent() {
			return t
		}
	}
	return b.r.parts[len(b.r.parts)-1]
}

func replyOf(t *trajectory.Trajectory) string {
	if t.Reply == nil {
		return ""
	}
	return strings.TrimSpace(*t.Reply)
}

func (b *bench) replied() {
	t := b.last()
	_, lacks := t.Lacks(trajectory.FactReply)
	switch {
	case replyOf(t) != "":
	case classify.Silent(t):
		b.fails("the run gave no reply", match.Mismatch{Step: len(t.Steps) - 1, Field: "liveness/reply", Expected: "a reply", Got: "none"})
	case lacks:
		b.unsure("whether the run gave a reply is not known: reply is missing: " + remedy(t, trajectory.FactReply))
	case !t.Complete.HasRoot:
		b.unsure("whether the run gave a reply is not known: root span is missing: " + remedy(t, trajectory.FactRoot))
	case t.Complete.Truncated:
		b.unsure("whether the run gave a reply is not known: whole trace is missing: " + remedy(t, trajectory.FactWhole))
	case b.saidElsewhere(t):
	default:
		b.unsure("the run ends without a reply, while a call is open or another trace goes on with it: send all of its traces, and flush the exporter before the process ends")
	}
}

// saidElsewhere says that the run has model calls that answered in words, though none counts as its reply: an agent that was handed the
// conversation spoke last.
func (b *bench) saidElsewhere(t *trajectory.Trajectory) bool {
	return !t.GoesOn && slices.ContainsFunc(t.ModelCalls, func(m trajectory.ModelCall) bool {
		return strings.TrimSpace(m.Text) != "" && len(m.ToolCalls) == 0
	})
}

// called wants each of the tools called, once at least, with whatever outcome.
func (b *bench) called(tools []string) {
	t := b.r.whole
	var missing []string
	for _, name := range tools {
		short := catalog.Normalise(name)
		if !slices.ContainsFunc(t.ToolCalls, func(c trajectory.ToolCall) bool { return catalog.Normalise(c.Name) == short }) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	for _, fact := range []trajectory.Fact{trajectory.FactToolCalls, trajectory.FactToolExecution} {
		if _, lacks := t.Lacks(fact); lacks && len(t.ToolCalls) == 0 {
			b.unsure(fmt.Sprintf("whether %s was called is not known: %s is missing: %s", missing[0], spaced(fact), remedy(t, fact)))
			return
		}
	}
	for _, name := range missing {
		b.fails("the run never called "+shorten(name)+", which healthy runs of the route all call",
			match.Mismatch{Step: -1, Field: "liveness/calls", Expected: "a call of " + shorten(name), Got: "none"})
	}
}

func spaced(f trajectory.Fact) string { return strings.ReplaceAll(string(f), "_", " ") }

func remedy(t *trajectory.Trajectory, f trajectory.Fact) string {
	return cmp.Or(t.Remedy(f), "have the instrumentation record it")
}

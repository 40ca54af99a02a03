package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// failed says how the agent ended that did not end well.
func (a *attempt) failed() string {
	if a.agent.URL != "" {
		return fmt.Sprintf("the service answered %d%s", a.last.code, a.printed())
	}
	return fmt.Sprintf("the agent ended with exit code %d%s", a.last.code, a.printed())
}

func (a *attempt) printed() string {
	if a.last.tail == "" {
		return ""
	}
	return "; its last words: " + a.last.tail
}

// unflushed is a note on a run whose root span did not come: the root ends last, and is what a process loses that ends too early.
const unflushed = "the root span did not come: flush the exporter before the process ends (await sdk.shutdown(), force_flush())"

// endless says of an agent that was cut off whether it had done its work before.
func (a *attempt) endless(traces []*trajectory.Trajectory) string {
	what := "the agent did not end"
	if a.agent.URL != "" {
		what = "the service did not answer"
	}
	why := fmt.Sprintf("%s within %s (--timeout)%s", what, a.g.opt.Timeout, a.printed())
	if a.agent.URL == "" && slices.ContainsFunc(traces, func(t *trajectory.Trajectory) bool { return t.Reply != nil }) {
		why += "\nIts spans tell an answer: something keeps the process alive after it, such as an open client, server or timer. Close it, or end the process once the spans are flushed"
	}
	return why
}

// silent says why no spans came, as far as what else came of the run tells.
func (a *attempt) silent(stray int) string {
	var asked []string
	for _, e := range a.replay.Ledger() {
		if !slices.Contains(asked, e.Tool) {
			asked = append(asked, e.Tool)
		}
	}
	var b strings.Builder
	if a.last.code != 0 {
		b.WriteString(a.failed() + "\n")
	}
	switch {
	case stray > 0:
		fmt.Fprintf(&b, "no spans came of this run, but %d that are of no run: pass on pawl.run (OTEL_RESOURCE_ATTRIBUTES) or traceparent, or run one at a time (-j 1)", stray)
	case len(asked) > 0:
		fmt.Fprintf(&b, "no spans came, although the agent asked for %s: all that is missing is its telemetry", strings.Join(asked, ", "))
	case a.last.code != 0:
		b.WriteString("no spans came: it seems to have ended before it did anything. If it did its work, its telemetry is missing")
	default:
		b.WriteString("no spans came" + a.printed())
	}
	if a.agent.URL != "" {
		fmt.Fprintf(&b, "\nThe service must send to %s (its OTEL_EXPORTER_OTLP_ENDPOINT; --listen keeps the port) and go on with traceparent;", a.g.OTLP())
	} else {
		b.WriteString("\npawl set OTEL_EXPORTER_OTLP_ENDPOINT for the agent;")
	}
	return b.String() + " " + noSpans
}

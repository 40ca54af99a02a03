package main

import (
	"log/slog"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// judged is a run with what the rules said of each of its traces.
type judged struct {
	run
	Reports []classify.Report
}

// engineOf builds an engine with all rules, or with the one of that name.
func engineOf(only string, tools *catalog.Catalog, policy ...classify.Policy) (*classify.Engine, error) {
	rules := rule.All()
	if only != "" {
		rules = slices.DeleteFunc(rules, func(r classify.Rule) bool { return r.Name != only && r.ID() != only })
	}
	return classify.New(slog.New(slog.DiscardHandler), rules, classify.Options{Catalog: tools, Policy: policy})
}

// build reads the files and builds their traces. What cannot be read is an error here: a measurement leaves nothing out.
func build(files ...string) ([]*trajectory.Trajectory, error) {
	var traces []ptrace.Traces
	var logs []plog.Logs
	for item, err := range importer.Walk(importer.Options{}, files...) {
		if err != nil {
			return nil, err
		}
		switch item.Data.Signal {
		case wire.Traces:
			traces = append(traces, item.Data.Traces)
		case wire.Logs:
			logs = append(logs, item.Data.AllLogs()...)
		}
	}
	var out []*trajectory.Trajectory
	var reader trajectory.Reader
	for _, t := range trajectory.FromOTLP(traces, logs) {
		out = append(out, reader.Build(t))
	}
	return out, nil
}

// classifyAll judges trajectories as pawl classify does those of one call: in their sessions, and by the baseline given, else by the others
// among them.
func classifyAll(e *classify.Engine, ts []*trajectory.Trajectory, given *baseline.Snapshot) map[string]classify.Report {
	learnt := baseline.New()
	for _, t := range ts {
		e.Price(t)
		learnt.Learn(baseline.Measure(t))
	}
	own := learnt.Snapshot()
	out := map[string]classify.Report{}
	for _, parts := range trajectory.Sessions(ts) {
		session := trajectory.Join(parts)
		found := e.ClassifySession(session, given)
		for _, t := range parts {
			base := given
			if given == nil {
				base = own.Without(baseline.Measure(t))
			}
			t = session.Settle(t)
			out[t.TraceID] = e.WithSession(t, e.Classify(t, base), found)
		}
	}
	return out
}

// said returns what the rule found on the run, without what is for information alone.
func (j judged) said(r classify.Rule) []classify.Finding {
	var out []classify.Finding
	for _, rep := range j.Reports {
		for _, f := range rep.Findings {
			if f.Rule == r.ID() && f.Severity != classify.Info {
				out = append(out, f)
			}
		}
	}
	return out
}

// blind returns the fact that the rule lacked on one of the run's traces, "" when it saw all of them.
func (j judged) blind(r classify.Rule) trajectory.Fact {
	for _, rep := range j.Reports {
		for _, i := range rep.Inapplicable {
			if i.Rule == r.ID() {
				return i.Missing
			}
		}
	}
	return ""
}

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// build reads files as `pawl trajectory` does.
func build(paths ...string) ([]*trajectory.Trajectory, error) {
	var traces []ptrace.Traces
	var logs []plog.Logs
	for item, err := range importer.Walk(importer.Options{}, paths...) {
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		switch item.Data.Signal {
		case wire.Traces:
			traces = append(traces, item.Data.Traces)
		case wire.Logs:
			logs = append(logs, item.Data.AllLogs()...)
		}
	}
	var out []*trajectory.Trajectory
	for _, t := range trajectory.FromOTLP(traces, logs) {
		out = append(out, trajectory.Build(t))
	}
	return out, nil
}

// reading is what pawl makes of one run, over all its traces.
type reading struct {
	all       []*trajectory.Trajectory
	requested []*trajectory.ToolCall
	executed  []*trajectory.ToolCall
}

// readingOf puts the calls of all traces together. A call that a later trace only recalls, or answers, is the call of that id.
func readingOf(all []*trajectory.Trajectory) reading {
	r := reading{all: all}
	byID := map[string]*trajectory.ToolCall{}
	byTrace := map[*trajectory.ToolCall]string{}
	for _, t := range all {
		for i := range t.ToolCalls {
			c := &t.ToolCalls[i]
			if have := byID[c.ID]; c.ID != "" && have != nil {
				merge(have, c)
				continue
			}
			one := *c
			if have := r.twin(&one, byTrace, t.TraceID); have != nil {
				merge(have, c)
				have.Requested, have.ID = have.Requested || c.Requested, cmp.Or(have.ID, c.ID)
				byID[c.ID] = have
				continue
			}
			byID[c.ID], byTrace[&one] = &one, t.TraceID
			r.requested = append(r.requested, &one)
			r.executed = append(r.executed, &one)
		}
	}
	r.requested = slices.DeleteFunc(r.requested, func(c *trajectory.ToolCall) bool { return !c.Requested })
	r.executed = slices.DeleteFunc(r.executed, func(c *trajectory.ToolCall) bool { return !ran(c) })
	return r
}

// twin finds the call of which another trace tells the other half: the request with its answer here, the execution, which has no id, there.
func (r reading) twin(c *trajectory.ToolCall, traceOf map[*trajectory.ToolCall]string, trace string) *trajectory.ToolCall {
	for _, o := range r.executed {
		if traceOf[o] != trace && o.Name == c.Name && o.Executed != c.Executed && (o.ID == "" || c.ID == "") && string(o.Arguments.JSON) == string(c.Arguments.JSON) {
			return o
		}
	}
	return nil
}

// ran says whether pawl tells that the tool ran: a span of its execution, or an answer.
func ran(c *trajectory.ToolCall) bool {
	return c.Executed || c.HasResult || c.Outcome == trajectory.OutcomeOK || c.Outcome == trajectory.OutcomeError || c.Outcome == trajectory.OutcomeTimeout
}

func merge(into, c *trajectory.ToolCall) {
	into.Executed = into.Executed || c.Executed
	if !into.HasResult && (c.HasResult || c.Outcome == trajectory.OutcomeError || c.Outcome == trajectory.OutcomeOK) {
		into.Result, into.HasResult, into.Outcome, into.Error = c.Result, c.HasResult, c.Outcome, c.Error
	}
}

// take removes the call of the tool from a list: the one with equal arguments first, then the first of its name.
func take(list *[]*trajectory.ToolCall, tool, args string) *trajectory.ToolCall {
	i := slices.IndexFunc(*list, func(c *trajectory.ToolCall) bool { return c.Name == tool && sameValue(c.Arguments, args) })
	if i < 0 {
		i = slices.IndexFunc(*list, func(c *trajectory.ToolCall) bool { return c.Name == tool })
	}
	if i < 0 {
		return nil
	}
	c := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return c
}

// sameValue compares a value that pawl read with a JSON text, or with a plain text.
func sameValue(v trajectory.Value, want string) bool {
	if v.JSON != nil && fromJSON(string(v.JSON)) == fromJSON(want) {
		return true
	}
	var text string
	if json.Unmarshal([]byte(want), &text) != nil {
		text = want
	}
	return v.Raw == text || strings.TrimSpace(v.Raw) == strings.TrimSpace(text)
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/ingest/importer"
	"github.com/pawl-dev/pawl/ingest/otlp/wire"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// maxTogether is how many traces of a session are judged as one, as the service does it.
const maxTogether = 64

// kept judges the traces that the service keeps. In memory are their ids, and the traces of one session at a time.
func (b *backtest) kept(ctx context.Context) error {
	since, err := sinceTime(b.since, time.Now())
	if err != nil {
		return usageError(err, "--since 7d, --since 36h or --since 2026-11-30T22:00:00Z")
	}
	r, err := b.service(b.server)
	if err != nil {
		return err
	}
	all, open, err := b.keptTraces(ctx, r, since)
	if err != nil {
		return &exitError{exitUndecided, err, "name files of recorded traces, or another service with --server URL"}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s keeps no trace that is complete: %d are not yet", r.at, open)
	}
	gone, bar := 0, b.progress(len(all), "judging kept traces")
	for _, session := range together(all) {
		var traces []trajectory.Trace
		for _, k := range session {
			t, err := r.keptTrace(ctx, k)
			if _, none := errors.AsType[absent](err); none {
				gone++
			} else if ctx.Err() != nil {
				return context.Cause(ctx)
			} else if err != nil {
				b.reportProblem(err)
			} else {
				traces = append(traces, t)
			}
			_ = bar.Add(1)
		}
		if err := b.take(traces); err != nil {
			return err
		}
	}
	if gone+open > 0 {
		fmt.Fprintf(b.stderr, "pawl: left out: %s not complete yet, %d whose retention ended meanwhile\n", plural(open, "trace"), gone)
	}
	return nil
}

// together parts the traces by session: what goes on in another trace has not gone wrong, and some rules look for what lies in several.
func together(all []triage.KeptTrace) (out [][]triage.KeptTrace) {
	at := map[[2]string]int{}
	for _, k := range all {
		if k.Session == nil {
			out = append(out, []triage.KeptTrace{k})
			continue
		}
		key := [2]string{deref(k.Service), *k.Session}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	var parts [][]triage.KeptTrace
	for _, session := range out {
		slices.SortFunc(session, func(x, y triage.KeptTrace) int {
			return cmp.Or(startOf(x).Compare(startOf(y)), cmp.Compare(x.ID, y.ID))
		})
		parts = slices.AppendSeq(parts, slices.Chunk(session, maxTogether))
	}
	return parts
}

func startOf(k triage.KeptTrace) time.Time {
	if k.Start == nil {
		return time.Time{}
	}
	return *k.Start
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// keptTraces lists what the service keeps, each trace once; open counts those that are not complete.
func (b *backtest) keptTraces(ctx context.Context, r *running, since time.Time) (all []triage.KeptTrace, open int, err error) {
	seen := map[string]bool{}
	query := url.Values{"limit": {"1000"}}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	for {
		var page triage.KeptPage
		if err := r.get(ctx, "/v1/traces", query, &page); err != nil {
			return nil, 0, err
		}
		for _, k := range page.Traces {
			switch {
			case seen[k.ID]:
			case k.Open:
				open++
			default:
				all = append(all, triage.KeptTrace{ID: k.ID, Hour: k.Hour, Service: k.Service, Session: k.Session, Start: k.Start})
			}
			seen[k.ID] = true
		}
		if page.Next == "" {
			return all, open, nil
		}
		query.Set("cursor", page.Next)
	}
}

// keptTrace reads one trace.
func (r *running) keptTrace(ctx context.Context, k triage.KeptTrace) (trajectory.Trace, error) {
	doc, header, err := r.fetch(ctx, "/v1/traces/"+k.ID+"/spans", url.Values{"hour": {k.Hour.Format(time.RFC3339)}})
	if err != nil {
		return trajectory.Trace{}, err
	}
	var traces []ptrace.Traces
	var logs []plog.Logs
	for item, err := range importer.Read("trace "+k.ID, bytes.NewReader(doc), importer.Options{}) {
		if err != nil {
			return trajectory.Trace{}, err
		}
		if item.Data.Signal == wire.Traces {
			traces = append(traces, item.Data.Traces)
		} else {
			logs = append(logs, item.Data.AllLogs()...)
		}
	}
	for _, t := range trajectory.FromOTLP(traces, logs) {
		if t.ID == k.ID {
			t.Truncated = t.Truncated || header.Get(triage.TruncatedHeader) != ""
			return t, nil
		}
	}
	return trajectory.Trace{}, fmt.Errorf("%s answered with another trace than %s", r.at, k.ID)
}

// sinceTime reads a time, or how long ago it is: 7d, 36h. "" is the zero time.
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n > 0 && n < 36500 {
			return now.Add(-time.Duration(n * 24 * float64(time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a time nor how long ago it is", text)
}

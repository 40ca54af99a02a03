package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

// merged is a recorded merge, as the service tells it.
type merged struct {
	Alias  string    `json:"alias"`
	Into   string    `json:"into"` // ids of groups
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
	Reason string    `json:"reason"`
}

// String says who merged it, when and why, to follow the alias's name.
func (m *merged) String() string {
	return fmt.Sprintf("was merged into %s by %s on %s because %s", m.Into, shown(m.Who), m.When.UTC().Format("2006-01-02 15:04"), shown(m.Reason))
}

// toldGroup is what is read of a group of the service.
type toldGroup struct {
	Fingerprint classify.Fingerprint `json:"fingerprint"`
	Why         string               `json:"why"`
	Traces      []string             `json:"traces"`
	Into        string               `json:"into"`
	Merge       *merged              `json:"merge"`
}

// service is the running service, at an address or where pawl.yaml says. Secrets that pawl.yaml names may be absent here: they are the service's. Where all are
// there, the first of auth.tokens is asked with.
func (a *app) service(server string) (*running, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		cfg, err = a.loadOffline()
	}
	if err != nil {
		return nil, err
	}
	return a.runningAt(server, cfg)
}

// lookUp finds instances among what the service keeps.
func (a *app) lookUp(ctx context.Context, server string) (func(string) (instance, error), error) {
	r, err := a.service(server)
	if err == nil {
		err = r.get(ctx, "/v1/services", nil, new([]any))
	}
	if err != nil && server == "" && !errors.Is(err, errOtherToken) && ctx.Err() == nil {
		return nil, usageError(fmt.Errorf("a fingerprint's parts are known from the traces that it was found in, or to the service, and %w", err),
			"--in FILE, with the recorded traces, or --server URL")
	}
	if err != nil {
		return nil, err
	}
	return func(word string) (instance, error) {
		if traceID.MatchString(word) {
			return r.onTrace(ctx, word)
		}
		return r.group(ctx, word)
	}, nil
}

// group is an instance of a group that the service has.
func (r *running) group(ctx context.Context, id string) (instance, error) {
	g, err := r.told(ctx, id)
	if _, none := errors.AsType[absent](err); none {
		return instance{}, fmt.Errorf("%s has no group %s: it groups what it found in traces that it received, info aside", r.at, id)
	}
	f := classify.Finding{Label: g.Fingerprint.Label, Fingerprint: g.Fingerprint, Why: g.Why}
	return instance{f, append([]string{}, g.Traces...), g.Merge}, err
}

// told reads a group.
func (r *running) told(ctx context.Context, id string) (g toldGroup, err error) {
	if err := r.get(ctx, "/v1/groups/"+url.PathEscape(id), nil, &g); err != nil {
		return g, err
	}
	if g.Merge != nil {
		g.Merge.Alias, g.Merge.Into = id, g.Into
	}
	return g, nil
}

// merged is what the service knows of a fingerprint's group: nil where it is no alias, or where there is no such group.
func (r *running) merged(ctx context.Context, id string) (*merged, error) {
	g, err := r.told(ctx, id)
	if _, none := errors.AsType[absent](err); none {
		return nil, nil
	}
	return g.Merge, err
}

// onTrace is the primary finding of a trace that the service keeps.
func (r *running) onTrace(ctx context.Context, id string) (instance, error) {
	var t struct {
		Line struct {
			Primary  *classify.Label    `json:"primary"`
			Findings []classify.Finding `json:"findings"`
		} `json:"line"`
	}
	err := r.get(ctx, "/v1/traces/"+id, nil, &t)
	if _, none := errors.AsType[absent](err); none {
		return instance{}, fmt.Errorf("%s keeps no trace %s", r.at, id)
	}
	if err != nil {
		return instance{}, err
	}
	i := slices.IndexFunc(t.Line.Findings, func(f classify.Finding) bool {
		return t.Line.Primary != nil && f.Because == nil && f.Label == *t.Line.Primary
	})
	if i < 0 {
		return instance{}, fmt.Errorf("trace %s has no finding that makes it fail", id)
	}
	x := instance{finding: t.Line.Findings[i], traces: []string{id}}
	x.merge, err = r.merged(ctx, x.finding.Fingerprint.ID())
	return x, err
}

package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// None are no arguments.
type None struct{}

// Status is the service at a glance.
type Status struct {
	Server       string         `json:"server" jsonschema:"the address that was asked"`
	Services     []Service      `json:"services" jsonschema:"those with the most traces first"`
	Groups       int            `json:"groups" jsonschema:"failures"`
	ByLabel      map[string]int `json:"groups_by_label"`
	PullRequests map[string]int `json:"pull_requests" jsonschema:"by state"`
	Note         string         `json:"note" jsonschema:"what was left out, if anything"`
}

// Service is what is known of one service.
type Service struct {
	Name     string         `json:"name" jsonschema:"service.name; empty for traces that have none"`
	Verdicts map[string]int `json:"verdicts" jsonschema:"traces by verdict"`
	LastSeen time.Time      `json:"last_seen"`
	Blind    []Blind        `json:"blind_spots" jsonschema:"what could not be judged, and the setting that would mend it"`
}

// Blind is a fact that a service's traces do not tell.
type Blind struct {
	Missing string   `json:"missing"`
	Remedy  string   `json:"remedy"`
	Rules   []string `json:"rules" jsonschema:"that cannot judge without it"`
}

const (
	maxServices = 30
	maxBlind    = 5
	maxLabels   = 60
)

func (r reader) status(ctx context.Context, _ None) (Status, error) {
	var services []Service
	var groups []struct {
		Label string `json:"label"`
	}
	var batches []struct {
		State string `json:"state"`
	}
	for path, into := range map[string]any{"/v1/services": &services, "/v1/groups": &groups, "/v1/batches": &batches} {
		if _, err := r.api.get(ctx, path, nil, into); err != nil {
			return Status{}, err
		}
	}
	out := Status{Server: r.api.base.String(), Groups: len(groups), ByLabel: map[string]int{}, PullRequests: map[string]int{}}
	for _, g := range groups {
		out.ByLabel[name(g.Label)]++
	}
	for _, b := range batches {
		out.PullRequests[name(b.State)]++
	}
	slices.SortStableFunc(services, func(a, b Service) int {
		return cmp.Or(cmp.Compare(total(b.Verdicts), total(a.Verdicts)), cmp.Compare(a.Name, b.Name))
	})
	var done int
	out.Services, done = fill(len(services), maxServices, MaxAnswer/2, func(i int) Service { return services[i].shown() })
	if done < len(services) {
		out.Note = fmt.Sprintf("%d of %d services are shown, those with the most traces", done, len(services))
	}
	if out.ByLabel = most(out.ByLabel); len(out.ByLabel) == maxLabels {
		out.Note += fmt.Sprintf(" the %d most frequent labels are shown", maxLabels)
	}
	return out, nil
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func (s Service) shown() Service {
	out := Service{name(s.Name), map[string]int{}, s.LastSeen, []Blind{}}
	for verdict, n := range most(s.Verdicts) {
		out.Verdicts[name(verdict)] = n
	}
	for _, b := range s.Blind[:min(len(s.Blind), maxBlind)] {
		out.Blind = append(out.Blind, Blind{name(b.Missing), cutRunes(clean(b.Remedy), 300), names(b.Rules, 30)})
	}
	return out
}

// most are the most frequent of many counts.
func most(counts map[string]int) map[string]int {
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	out := map[string]int{}
	for _, k := range keys[:min(len(keys), maxLabels)] {
		out[k] = counts[k]
	}
	return out
}

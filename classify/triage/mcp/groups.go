package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// ListGroups are the arguments of list_groups; what is empty lets all through.
type ListGroups struct {
	Label   string `json:"label,omitempty" jsonschema:"kind of failure, such as loop; unclassified: no rule explains it"`
	Service string `json:"service,omitempty" jsonschema:"as status names it"`
	Status  string `json:"status,omitempty" jsonschema:"the word before the colon of a listed status: waits, due, preview, open, merged"`
	Life    string `json:"life,omitempty" jsonschema:"new, escalating, ongoing, resolved, regressed or ignored"`
	Query   string `json:"q,omitempty" jsonschema:"text to look for"`
	Sort    string `json:"sort,omitempty" jsonschema:"new, growing, count or last"`
	Limit   int    `json:"limit,omitempty" jsonschema:"1 to 50; 20 if not given"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next of the page before"`
}

// Groups is a page of failures.
type Groups struct {
	Groups []Listed `json:"groups"`
	Page
}

// Listed is a failure as the list shows it.
type Listed struct {
	ID       string    `json:"id"`
	Label    string    `json:"label"`
	Severity string    `json:"severity"`
	Life     string    `json:"life" jsonschema:"empty where the service does not tell"`
	Status   string    `json:"status" jsonschema:"where it is on its way to a regression case, and why it waits"`
	Count    int       `json:"count" jsonschema:"times it was seen"`
	Services []string  `json:"services"`
	First    time.Time `json:"first_seen"`
	Last     time.Time `json:"last_seen"`
	Why      Outside   `json:"why"`
	PR       string    `json:"pull_request" jsonschema:"empty when there is none"`
}

// told is a group as the service tells it.
type told struct {
	ID          string    `json:"id"`
	Label       string    `json:"label"`
	Severity    string    `json:"severity"`
	Life        string    `json:"life"`
	Status      string    `json:"status"`
	Count       int       `json:"count"`
	Services    []string  `json:"services"`
	FirstSeen   time.Time `json:"first_seen"`
	LastSeen    time.Time `json:"last_seen"`
	Title       string    `json:"title"`
	Why         string    `json:"why"`
	Traces      []string  `json:"traces"`
	URL         string    `json:"pull_request"`
	Merged      string    `json:"merged"`
	Follow      []string  `json:"follow"`
	Fingerprint struct {
		Agent string `json:"agent"`
		Parts any    `json:"parts"`
	} `json:"fingerprint"`
	Began     any `json:"began"`
	Spread    any `json:"spread"`
	Decisions []struct {
		Who    string    `json:"who"`
		When   time.Time `json:"when"`
		Choice string    `json:"choice"`
		As     string    `json:"as"`
		Label  string    `json:"label"`
		Reason string    `json:"reason"`
		Undone bool      `json:"undone"`
	} `json:"decisions"`
}

const pageRoom = MaxAnswer * 4 / 5

func (r reader) listGroups(ctx context.Context, in ListGroups) (out Groups, err error) {
	q := url.Values{}
	for key, value := range map[string]string{"label": in.Label, "service": in.Service, "status": in.Status, "life": in.Life, "q": in.Query, "sort": in.Sort} {
		if value != "" {
			q.Set(key, value)
		}
	}
	limit, err := pageSize(in.Limit)
	if err != nil {
		return out, err
	}
	all, from, next, err := page[told](ctx, r.api, "/v1/groups", q, in.Cursor)
	if err != nil {
		return out, err
	}
	var done int
	out.Groups, done = fill(len(all), limit, pageRoom, func(i int) Listed { return all[i].listed() })
	out.Page = goesOn(from, done, len(all), next)
	return out, nil
}

// page reads the part of a list that a cursor names: what is left of the service's page, where that begins, and the cursor of its next one.
func page[T any](ctx context.Context, api *API, path string, q url.Values, cursor string) (left []T, from place, next string, err error) {
	if from, err = placeOf(cursor); err != nil {
		return nil, from, "", err
	}
	q.Set("limit", strconv.Itoa(largestPage))
	if from.cursor != "" {
		q.Set("cursor", from.cursor)
	}
	if next, err = api.get(ctx, path, q, &left); err != nil {
		return nil, from, "", err
	}
	return left[min(from.skip, len(left)):], from, next, nil
}

// goesOn tells how a list goes on of which done of n items of the service's page were shown.
func goesOn(from place, done, n int, next string) Page {
	switch {
	case done < n:
		return Page{place{from.skip + done, from.cursor}.String(), "cut: more follows, ask again with next as cursor"}
	case next != "":
		return Page{place{0, next}.String(), "cut: more follows, ask again with next as cursor"}
	}
	return Page{}
}

func (g told) listed() Listed {
	return Listed{name(g.ID), name(g.Label), name(g.Severity), name(g.Life), cutRunes(clean(g.Status), 400), g.Count, names(g.Services, 10), g.FirstSeen, g.LastSeen,
		outside(g.Why, 400), cutRunes(clean(g.URL), 300)}
}

// ID names a thing.
type ID struct {
	ID string `json:"id" jsonschema:"of a group, as list_groups gives it"`
}

// Group is a failure in full.
type Group struct {
	Listed
	Title     Outside    `json:"title"`
	Agent     string     `json:"agent"`
	Traces    []string   `json:"traces" jsonschema:"ids of traces that show it, for get_trace"`
	Parts     any        `json:"parts" jsonschema:"what makes sightings this failure"`
	Began     any        `json:"began" jsonschema:"what had changed when it was first seen"`
	Spread    any        `json:"spread" jsonschema:"sightings over versions, models and prompts, against all runs"`
	Follow    []string   `json:"follow" jsonschema:"ids of failures that were seen to follow from this one"`
	Merged    string     `json:"merged" jsonschema:"into which group, if it was"`
	Decisions []Decision `json:"decisions" jsonschema:"of people, the latest last"`
	Cut       []Cut      `json:"cut" jsonschema:"values of parts, began and spread that are shown in part"`
	Note      string     `json:"note"`
}

// Decision is what a person decided.
type Decision struct {
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
	Choice string    `json:"choice"`
	As     string    `json:"as"`
	Label  string    `json:"label"`
	Reason Outside   `json:"reason"`
	Undone bool      `json:"undone"`
}

const maxDecisions = 20

func (r reader) getGroup(ctx context.Context, in ID) (Group, error) {
	var g told
	_, err := r.api.get(ctx, "/v1/groups/"+url.PathEscape(in.ID), nil, &g)
	if _, none := errors.AsType[*absent](err); none {
		return Group{}, fmt.Errorf("there is no group %q: list_groups names them", name(in.ID))
	}
	if err != nil {
		return Group{}, err
	}
	out := Group{Listed: g.listed(), Title: outside(g.Title, 300), Agent: name(g.Fingerprint.Agent), Traces: names(g.Traces, 20), Follow: names(g.Follow, 20), Merged: cutRunes(clean(g.Merged), 400), Decisions: []Decision{}}
	out.Why = outside(g.Why, 2000)
	for _, part := range []struct {
		from any
		to   *any
		name string
	}{{g.Fingerprint.Parts, &out.Parts, "/parts"}, {g.Began, &out.Began, "/began"}, {g.Spread, &out.Spread, "/spread"}} {
		clipped, cuts := clip(part.from, 8<<10)
		*part.to = clipped
		for _, c := range cuts {
			out.Cut = append(out.Cut, Cut{part.name + c.Pointer, c.Length})
		}
	}
	out.Cut = append([]Cut{}, out.Cut[:min(len(out.Cut), maxCuts)]...)
	left := max(0, len(g.Decisions)-maxDecisions)
	for _, d := range g.Decisions[left:] {
		out.Decisions = append(out.Decisions, Decision{name(d.Who), d.When, name(d.Choice), name(d.As), name(d.Label), outside(d.Reason, 200), d.Undone})
	}
	if left > 0 || len(g.Traces) > len(out.Traces) {
		out.Note = fmt.Sprintf("cut: %d earlier decisions and %d further traces are not shown", left, len(g.Traces)-len(out.Traces))
	}
	return out, nil
}

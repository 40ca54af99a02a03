package home

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// tempo searches, and reads traces by their ids: by version 2 of its API, and where that has none by version 1.
type tempo struct{ services []string }

const (
	tempoLimit = 100            // traces that one search gives: it knows no pages
	tempoSpan  = 24 * time.Hour // the longest time of one search: a server may refuse a week
)

// tempoAgents are spans by which a trace is known to be an agent's, in the words of the dialects that are read. A store of all services holds many others.
const tempoAgents = `{ span.gen_ai.operation.name != nil || span.gen_ai.system != nil || span.gen_ai.provider.name != nil || span.gen_ai.request.model != nil || ` +
	`span.openinference.span.kind != nil || span.traceloop.span.kind != nil || span.ai.operationId != nil || span.langfuse.observation.type != nil || span.langsmith.span.kind != nil }`

func (t tempo) trace(ctx context.Context, c client, id string, _ time.Time) ([][]byte, error) {
	if id = bareID(id); !isName(id) {
		return nil, ErrNotThere
	}
	for _, path := range []string{"/api/v2/traces/", "/api/traces/"} { // without a time: a narrow one hides spans
		doc, err := c.get(ctx, path+url.PathEscape(id), nil)
		switch {
		case err == nil && hasSpans(doc):
			return [][]byte{doc}, nil
		case err != nil && !missing(err):
			return nil, err
		}
	}
	return nil, ErrNotThere
}

// hasSpans tells an answer from one that says in a 200 that there is nothing.
func hasSpans(doc []byte) bool {
	var a struct {
		Batches, ResourceSpans []jsontext.Value
		Trace                  struct{ Batches, ResourceSpans []jsontext.Value }
	}
	err := json.Unmarshal(doc, &a, json.MatchCaseInsensitiveNames(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return err != nil || len(a.Batches)+len(a.ResourceSpans)+len(a.Trace.Batches)+len(a.Trace.ResourceSpans) > 0
}

func (t tempo) window(ctx context.Context, c client, w Window, take take) error {
	q, fallback := t.query()
	var gone error
	for to := w.To; to.After(w.From); to = to.Add(-tempoSpan) {
		from := to.Add(-tempoSpan)
		if from.Before(w.From) {
			from = w.From
		}
		goOn, err := halves(from, to, tempoLimit, func(from, to time.Time, last bool) (int, bool, error) {
			ids, err := t.search(ctx, c, q, from, to)
			if s, _ := statusOf(err); s == http.StatusBadRequest && fallback != q { // an older Tempo does not know the words
				q = fallback
				ids, err = t.search(ctx, c, q, from, to)
			}
			if err != nil || len(ids) >= tempoLimit && !last {
				return len(ids), err == nil, err
			}
			if len(ids) >= tempoLimit {
				gone = errCrowded
			}
			goOn, err := t.each(ctx, c, ids, take, &gone)
			return len(ids), goOn, err
		})
		if err != nil || !goOn {
			return errors.Join(err, gone)
		}
	}
	return gone
}

// query is the search for the services that are wanted, or for agents, and one that every version understands.
func (t tempo) query() (q, fallback string) {
	if len(t.services) == 0 {
		return tempoAgents, "{ }"
	}
	var any []string
	for _, g := range t.services {
		any = append(any, expression(g))
	}
	q = fmt.Sprintf("{ resource.service.name =~ %q }", strings.Join(any, "|"))
	return q, q
}

// expression writes a glob of path.Match as a regular expression.
func expression(glob string) string {
	var b strings.Builder
	for _, r := range glob {
		switch r {
		case '*':
			b.WriteString("[^/]*")
		case '?':
			b.WriteString("[^/]")
		case '[', ']', '-', '^':
			b.WriteRune(r)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return b.String()
}

// search gives the ids of the traces that a query finds.
func (t tempo) search(ctx context.Context, c client, q string, from, to time.Time) (ids []string, err error) {
	doc, err := c.get(ctx, "/api/search", url.Values{"q": {q}, "limit": {strconv.Itoa(tempoLimit)}, "spss": {"1"},
		"start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)}})
	if err != nil {
		return nil, err
	}
	var found struct {
		Traces []struct {
			ID string `json:"traceID"`
		} `json:"traces"`
	}
	if err := json.Unmarshal(doc, &found, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("what its search found cannot be read: %w", err)
	}
	for _, x := range found.Traces {
		ids = append(ids, x.ID)
	}
	return ids, nil
}

// each reads traces. One that is gone meanwhile is nothing; one that cannot be read holds up no other and is told at the end.
func (t tempo) each(ctx context.Context, c client, ids []string, take take, gone *error) (goOn bool, err error) {
	for _, id := range ids {
		docs, err := t.trace(ctx, c, id, time.Time{})
		switch s, _ := statusOf(err); {
		case errors.Is(err, ErrNotThere):
			continue
		case errors.Is(err, errTooLarge) || s >= http.StatusInternalServerError:
			*gone = fmt.Errorf("trace %s: %w", cut(id), err)
			continue
		case err != nil:
			return false, err
		}
		if !take(docs) {
			return false, nil
		}
	}
	return true, nil
}

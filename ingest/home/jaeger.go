package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jaeger asks version 3 of the query API, which speaks OTLP, and where there is none the one of Jaeger's own page.
type jaeger struct {
	services []string
	old      atomic.Bool
}

// jaegerDepth is how many traces one search gives: it knows no pages.
const jaegerDepth = 200

func (j *jaeger) trace(ctx context.Context, c client, id string, _ time.Time) ([][]byte, error) {
	if id = bareID(id); !isName(id) {
		return nil, ErrNotThere
	}
	if !j.old.Load() {
		doc, err := c.get(ctx, "/api/v3/traces/"+url.PathEscape(id), nil)
		switch {
		case err == nil && jaegerFault(doc) == nil:
			return [][]byte{doc}, nil
		case err == nil:
			return nil, jaegerFault(doc)
		case saysNotThere(err):
			return nil, ErrNotThere
		case !missing(err):
			return nil, err
		}
		j.old.Store(true)
	}
	doc, err := c.get(ctx, "/api/traces/"+url.PathEscape(id), nil)
	if s, _ := statusOf(err); s == http.StatusNotFound {
		return nil, ErrNotThere
	}
	if err != nil {
		return nil, err
	}
	return [][]byte{doc}, nil
}

// saysNotThere tells a 404 in the API's own words from that of a server that has no such API.
func saysNotThere(err error) bool {
	s, ok := errors.AsType[*StatusError](err)
	return ok && s.Status == http.StatusNotFound && s.Said != "" && s.Said != "404 page not found"
}

// jaegerFault is an error that came as an answer, among the chunks of which it may stand.
func jaegerFault(doc []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		v, err := d.ReadValue()
		if err != nil {
			return nil // the importer says what is wrong with it
		}
		var chunk struct {
			Error *struct {
				Code    int    `json:"httpCode"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(v, &chunk) != nil || chunk.Error == nil {
			continue
		}
		if chunk.Error.Code == http.StatusNotFound {
			return ErrNotThere
		}
		return &StatusError{chunk.Error.Code, cut(chunk.Error.Message)}
	}
}

func (j *jaeger) window(ctx context.Context, c client, w Window, take take) error {
	services, err := j.names(ctx, c)
	if err != nil {
		return err
	}
	var gone error
	for _, s := range services {
		goOn, err := halves(w.From, w.To, jaegerDepth, func(from, to time.Time, last bool) (int, bool, error) {
			doc, err := j.find(ctx, c, s, from, to)
			if errors.Is(err, ErrNotThere) {
				return 0, true, nil
			}
			if err != nil {
				return 0, false, fmt.Errorf("service %s: %w", s, err)
			}
			n := tracesIn(doc)
			if n >= jaegerDepth && !last {
				return n, true, nil
			}
			if n >= jaegerDepth {
				gone = errCrowded
			}
			return n, take([][]byte{doc}), nil
		})
		if err != nil || !goOn {
			return errors.Join(err, gone)
		}
	}
	return gone
}

// names are the services whose traces are wanted.
func (j *jaeger) names(ctx context.Context, c client) (out []string, err error) {
	var list struct {
		Services []string `json:"services"`
		Data     []string `json:"data"`
	}
	doc, err := c.get(ctx, "/api/v3/services", nil)
	if missing(err) {
		j.old.Store(true)
		doc, err = c.get(ctx, "/api/services", nil)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(doc, &list, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, fmt.Errorf("its list of services cannot be read: %w", err)
	}
	for _, s := range append(list.Services, list.Data...) {
		if serves(j.services, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it knows no service that is wanted: see services")
	}
	return out, nil
}

// find searches a service's traces. Parameters go by their name of today and by that of before.
func (j *jaeger) find(ctx context.Context, c client, service string, from, to time.Time) ([]byte, error) {
	depth := strconv.Itoa(jaegerDepth)
	if j.old.Load() {
		return c.get(ctx, "/api/traces", url.Values{"service": {service}, "lookback": {"custom"}, "limit": {depth},
			"start": {strconv.FormatInt(from.UnixMicro(), 10)}, "end": {strconv.FormatInt(to.UnixMicro(), 10)}})
	}
	min, max := from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano)
	doc, err := c.get(ctx, "/api/v3/traces", url.Values{"query.serviceName": {service}, "query.service_name": {service}, "query.startTimeMin": {min}, "query.start_time_min": {min},
		"query.startTimeMax": {max}, "query.start_time_max": {max}, "query.searchDepth": {depth}, "query.search_depth": {depth}, "query.num_traces": {depth}})
	if saysNotThere(err) {
		return nil, ErrNotThere
	}
	if err == nil {
		err = jaegerFault(doc)
	}
	return doc, err
}

// tracesIn counts the traces of an answer without reading more of it than their ids.
func tracesIn(doc []byte) int {
	seen := map[string]bool{}
	d := jsontext.NewDecoder(bytes.NewReader(doc), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	name := false // the next string is the value of a trace's id
	for {
		t, err := d.ReadToken()
		if err != nil {
			return len(seen)
		}
		if t.Kind() != '"' {
			name = false
			continue
		}
		text := t.String()
		if name {
			seen[text] = true
		}
		kind, n := d.StackIndex(d.StackDepth())
		name = !name && kind == '{' && n%2 == 1 && (text == "traceId" || text == "traceID")
	}
}

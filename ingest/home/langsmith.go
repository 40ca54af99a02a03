package home

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// langsmith asks for runs. A run's inputs and outputs may lie elsewhere, behind a link that is good for a while.
type langsmith struct {
	project string

	mu      sync.Mutex
	session string // the project's id, once it is known
}

// langsmithFields are what is read of a run. The last two an older server does not know.
var langsmithFields = []string{"id", "name", "run_type", "start_time", "end_time", "status", "error", "extra", "events", "inputs", "outputs", "tags", "session_id",
	"trace_id", "dotted_order", "parent_run_id", "prompt_tokens", "completion_tokens", "total_tokens", "total_cost", "feedback_stats", "inputs_s3_urls", "outputs_s3_urls"}

const langsmithPage = 100

// query is the body of runs/query.
type query struct {
	Session []string `json:"session,omitempty"`
	Trace   string   `json:"trace,omitempty"`
	Start   string   `json:"start_time,omitempty"`
	Filter  string   `json:"filter,omitempty"`
	Select  []string `json:"select"`
	Limit   int      `json:"limit"`
	Cursor  string   `json:"cursor,omitempty"`
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// asUUID writes an id with the dashes of a UUID, "" for what is none.
func asUUID(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	if raw, err := hex.DecodeString(id); err == nil && len(raw) == 16 {
		id = fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
	}
	if !uuid.MatchString(id) {
		return ""
	}
	return id
}

func (l *langsmith) trace(ctx context.Context, c client, id string, _ time.Time) ([][]byte, error) {
	if id = asUUID(id); id == "" {
		return nil, ErrNotThere
	}
	docs, err := l.whole(ctx, c, id)
	if err != nil || len(docs) > 0 {
		return docs, err
	}
	root, err := l.traceOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if root == id {
		return nil, ErrNotThere
	}
	if docs, err = l.whole(ctx, c, root); err == nil && len(docs) == 0 {
		err = ErrNotThere
	}
	return docs, err
}

// whole reads all runs of a trace.
func (l *langsmith) whole(ctx context.Context, c client, id string) (docs [][]byte, err error) {
	size := int64(0)
	err = l.runs(ctx, c, query{Trace: id}, func(doc []byte) (bool, error) {
		if size += int64(len(doc)); size > c.maxBytes {
			return false, fmt.Errorf("%w: a trace of more than %d bytes", errTooLarge, c.maxBytes)
		}
		docs = append(docs, doc)
		return true, nil
	})
	return docs, err
}

// traceOf is the trace that a run is of.
func (l *langsmith) traceOf(ctx context.Context, c client, run string) (string, error) {
	doc, err := c.get(ctx, l.path(c, "/runs/"+run), nil)
	if s, _ := statusOf(err); s == http.StatusNotFound || s == http.StatusUnprocessableEntity || s == http.StatusBadRequest {
		return "", ErrNotThere
	}
	if err != nil {
		return "", err
	}
	var r struct {
		Trace string `json:"trace_id"`
	}
	if err := json.Unmarshal(doc, &r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return "", fmt.Errorf("its run cannot be read: %w", err)
	}
	if r.Trace = asUUID(r.Trace); r.Trace == "" {
		return "", ErrNotThere
	}
	return r.Trace, nil
}

func (l *langsmith) window(ctx context.Context, c client, w Window, take take) error {
	session, err := l.sessionID(ctx, c)
	if err != nil {
		return err
	}
	q := query{Session: []string{session}, Start: stamp(w.From.Add(-Margin)), Filter: fmt.Sprintf("lt(start_time, %q)", stamp(w.To))}
	return l.runs(ctx, c, q, func(doc []byte) (bool, error) { return take([][]byte{doc}), nil })
}

// sessionID is the id of the project.
func (l *langsmith) sessionID(ctx context.Context, c client) (string, error) {
	if id := asUUID(l.project); id != "" {
		return id, nil
	}
	if l.project == "" {
		return "", errors.New("which project? Name it as project")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != "" {
		return l.session, nil
	}
	doc, err := c.get(ctx, l.path(c, "/sessions"), url.Values{"name": {l.project}, "limit": {"1"}})
	if err != nil {
		return "", err
	}
	var found []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(doc, &found, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return "", fmt.Errorf("its list of projects cannot be read: %w", err)
	}
	if len(found) == 0 || asUUID(found[0].ID) == "" {
		return "", fmt.Errorf("it has no project %q", l.project)
	}
	l.session = found[0].ID
	return l.session, nil
}

// path is below the API's own path, which is part of a url such as that of a server of one's own.
func (l *langsmith) path(c client, path string) string {
	if strings.Trim(c.base.Path, "/") != "" {
		return path
	}
	return "/api/v1" + path
}

// runs reads pages of runs until each says that it is enough. Content that lies elsewhere is put back.
func (l *langsmith) runs(ctx context.Context, c client, q query, each func(doc []byte) (bool, error)) error {
	q.Select, q.Limit = langsmithFields, langsmithPage
	return pages(func(cursor string) (string, bool, error) {
		q.Cursor = cursor
		doc, err := c.post(ctx, l.path(c, "/runs/query"), q)
		if s, _ := statusOf(err); s == http.StatusUnprocessableEntity && len(q.Select) == len(langsmithFields) {
			q.Select = langsmithFields[:len(langsmithFields)-2]
			doc, err = c.post(ctx, l.path(c, "/runs/query"), q)
		}
		if err != nil {
			return "", false, err
		}
		var page struct {
			Runs    []jsontext.Value `json:"runs"`
			Cursors struct {
				Next string `json:"next"`
			} `json:"cursors"`
		}
		if err := json.Unmarshal(doc, &page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			return "", false, fmt.Errorf("its page of runs cannot be read: %w", err)
		}
		if len(page.Runs) == 0 {
			return "", false, nil
		}
		if doc, err = l.filled(ctx, c, doc, page.Runs); err != nil {
			return "", false, err
		}
		goOn, err := each(doc)
		return page.Cursors.Next, goOn, err
	})
}

// stored is what a run says of content that lies elsewhere.
type stored struct {
	Inputs    jsontext.Value `json:"inputs"`
	Outputs   jsontext.Value `json:"outputs"`
	InputsAt  links          `json:"inputs_s3_urls"`
	OutputsAt links          `json:"outputs_s3_urls"`
}

// links lead to content, that of the name ROOT to all of it.
type links map[string]jsontext.Value

func (l links) root() string {
	var at struct {
		URL string `json:"presigned_url"`
	}
	if json.Unmarshal(l["ROOT"], &at) != nil {
		return ""
	}
	return at.URL
}

// filled puts content that lies elsewhere into the runs of a page. What cannot be had is left out: the run tells where it is, not what.
func (l *langsmith) filled(ctx context.Context, c client, doc []byte, runs []jsontext.Value) ([]byte, error) {
	changed := false
	for i, r := range runs {
		var s stored
		if json.Unmarshal(r, &s, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
			continue // the importer says what is wrong with it
		}
		add := map[string]jsontext.Value{}
		for _, side := range []struct {
			name string
			have jsontext.Value
			at   links
		}{{"inputs", s.Inputs, s.InputsAt}, {"outputs", s.Outputs, s.OutputsAt}} {
			at := side.at.root()
			if at == "" || len(side.have) > 0 && side.have.Kind() != 'n' && string(side.have) != "{}" {
				continue
			}
			content, err := c.linked(ctx, at)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if v := jsontext.Value(content); err == nil && v.IsValid() {
				add[side.name] = v
			}
		}
		if len(add) > 0 {
			runs[i], changed = with(r, add), true
		}
	}
	if !changed {
		return doc, nil
	}
	return json.Marshal(map[string][]jsontext.Value{"runs": runs}, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// with sets members of an object.
func with(object jsontext.Value, add map[string]jsontext.Value) jsontext.Value {
	var o map[string]jsontext.Value
	if json.Unmarshal(object, &o, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return object
	}
	for name, v := range add {
		o[name] = v
	}
	out, err := json.Marshal(o, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return object
	}
	return slices.Clone(out)
}

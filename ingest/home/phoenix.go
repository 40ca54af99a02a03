package home

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// phoenix asks the REST API for spans of a project.
type phoenix struct{ project string }

const phoenixPage = 1000

func (p phoenix) trace(ctx context.Context, c client, id string, _ time.Time) ([][]byte, error) {
	if !isName(id) {
		return nil, ErrNotThere
	}
	var docs [][]byte
	size := int64(0)
	err := p.spans(ctx, c, url.Values{"trace_id": {bareID(id)}}, func(doc []byte) (bool, error) {
		if size += int64(len(doc)); size > c.maxBytes {
			return false, fmt.Errorf("%w: a trace of more than %d bytes", errTooLarge, c.maxBytes)
		}
		docs = append(docs, doc)
		return true, nil
	})
	if err == nil && len(docs) == 0 {
		return nil, ErrNotThere
	}
	return docs, err
}

// bareID writes an id as OpenTelemetry does, where it is one.
func bareID(id string) string {
	if bare := strings.ToLower(strings.ReplaceAll(id, "-", "")); len(bare) == 32 && strings.Trim(bare, "0123456789abcdef") == "" {
		return bare
	}
	return id
}

func (p phoenix) window(ctx context.Context, c client, w Window, take take) error {
	q := url.Values{"start_time": {stamp(w.From.Add(-Margin))}, "end_time": {stamp(w.To)}}
	return p.spans(ctx, c, q, func(doc []byte) (bool, error) { return take([][]byte{doc}), nil })
}

// spans reads pages of spans until each says that it is enough.
func (p phoenix) spans(ctx context.Context, c client, q url.Values, each func(doc []byte) (bool, error)) error {
	project, err := p.identifier(ctx, c)
	if err != nil {
		return err
	}
	q.Set("limit", strconv.Itoa(phoenixPage))
	return pages(func(cursor string) (string, bool, error) {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		doc, err := c.get(ctx, "/v1/projects/"+url.PathEscape(project)+"/spans", q)
		if s, _ := statusOf(err); s == http.StatusNotFound {
			return "", false, fmt.Errorf("it has no project %q: name it as project (%w)", project, err)
		}
		if err != nil {
			return "", false, err
		}
		var page struct {
			Data []jsontext.Value `json:"data"`
			Next string           `json:"next_cursor"`
		}
		if err := json.Unmarshal(doc, &page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			return "", false, fmt.Errorf("its page of spans cannot be read: %w", err)
		}
		if len(page.Data) == 0 {
			return "", false, nil
		}
		goOn, err := each(doc)
		return page.Next, goOn, err
	})
}

// identifier is how the project is named in a path: by its id where its name holds what a path cannot.
func (p phoenix) identifier(ctx context.Context, c client) (string, error) {
	name := cmp.Or(p.project, "default")
	if !strings.ContainsAny(name, "/?#") {
		return name, nil
	}
	id := ""
	q := url.Values{"name_contains": {name}}
	err := pages(func(cursor string) (string, bool, error) {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		doc, err := c.get(ctx, "/v1/projects", q)
		if err != nil {
			return "", false, err
		}
		var page struct {
			Data []struct{ ID, Name string } `json:"data"`
			Next string                      `json:"next_cursor"`
		}
		if err := json.Unmarshal(doc, &page, json.MatchCaseInsensitiveNames(true)); err != nil {
			return "", false, fmt.Errorf("its list of projects cannot be read: %w", err)
		}
		for _, x := range page.Data {
			if x.Name == name {
				id = x.ID
			}
		}
		return page.Next, id == "", nil
	})
	if err == nil && id == "" {
		err = fmt.Errorf("it has no project %q", name)
	}
	return id, err
}

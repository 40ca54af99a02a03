package home

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// langfuse asks the API of version 4, which knows observations, and where there is none that of before, which knows traces. A deployment may have both while
// it moves: then what the new one does not have may be in the old one yet.
type langfuse struct{ old atomic.Bool }

const (
	langfuseNew = "/api/public/v2/observations"
	langfuseOld = "/api/public/traces"
	// langfuseFields are all groups but prices. With one key of metadata to expand, all of it comes whole.
	langfuseFields = "core,basic,time,io,metadata,model,usage,prompt,trace_context"
	langfusePage   = 100
	langfuseReach  = 14 * 24 * time.Hour // before the moment at which a trace is thought to have been
)

func (l *langfuse) trace(ctx context.Context, c client, id string, around time.Time) ([][]byte, error) {
	if !isName(id) {
		return nil, ErrNotThere
	}
	q := url.Values{"traceId": {id}}
	if !around.IsZero() {
		q.Set("fromStartTime", stamp(around.Add(-langfuseReach)))
		q.Set("toStartTime", stamp(around.Add(24*time.Hour)))
	}
	docs, n, err := l.observed(ctx, c, id, q)
	if err != nil && !missing(err) || n > 0 {
		return docs, err
	}
	doc, err := c.get(ctx, langfuseOld+"/"+url.PathEscape(id), nil)
	if missing(err) {
		return nil, ErrNotThere
	}
	if err != nil {
		return nil, err
	}
	return [][]byte{doc}, nil
}

// observed reads a trace's observations: by its id as it is written, and else as a UUID without its dashes, which is how OpenTelemetry writes one.
func (l *langfuse) observed(ctx context.Context, c client, id string, q url.Values) ([][]byte, int, error) {
	docs, n, err := l.all(ctx, c, q)
	if bare := strings.ReplaceAll(id, "-", ""); err == nil && n == 0 && bare != id && len(bare) == 32 {
		q.Set("traceId", bare)
		return l.all(ctx, c, q)
	}
	return docs, n, err
}

// all reads the observations that a query finds.
func (l *langfuse) all(ctx context.Context, c client, q url.Values) (docs [][]byte, n int, err error) {
	size := int64(0)
	err = l.pages(ctx, c, q, func(doc []byte, here int) (bool, error) {
		if size += int64(len(doc)); size > c.maxBytes {
			return false, fmt.Errorf("%w: a trace of more than %d bytes", errTooLarge, c.maxBytes)
		}
		docs, n = append(docs, doc), n+here
		return true, nil
	})
	return docs, n, err
}

// pages reads observations until each says that it is enough.
func (l *langfuse) pages(ctx context.Context, c client, q url.Values, each func(doc []byte, n int) (bool, error)) error {
	q.Set("fields", langfuseFields)
	q.Set("expandMetadata", "attributes")
	q.Set("limit", strconv.Itoa(langfusePage))
	return pages(func(cursor string) (string, bool, error) {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		doc, err := c.get(ctx, langfuseNew, q)
		if err != nil {
			return "", false, err
		}
		var page struct {
			Data []jsontext.Value `json:"data"`
			Meta struct {
				Cursor string `json:"cursor"`
			} `json:"meta"`
		}
		if err := json.Unmarshal(doc, &page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			return "", false, fmt.Errorf("its page of observations cannot be read: %w", err)
		}
		if len(page.Data) == 0 {
			return "", false, nil
		}
		goOn, err := each(doc, len(page.Data))
		return page.Meta.Cursor, goOn, err
	})
}

func (l *langfuse) window(ctx context.Context, c client, w Window, take take) error {
	any := false
	if !l.old.Load() {
		q := url.Values{"fromStartTime": {stamp(w.From.Add(-Margin))}, "toStartTime": {stamp(w.To)}}
		err := l.pages(ctx, c, q, func(doc []byte, _ int) (bool, error) {
			any = true
			return take([][]byte{doc}), nil
		})
		if any || err != nil && !missing(err) {
			return err
		}
		l.old.Store(err != nil)
	}
	err := l.oldWindow(ctx, c, w, take)
	if missing(err) && !l.old.Load() { // the new one is there, and has none
		return nil
	}
	return err
}

// oldWindow lists traces and reads each by itself.
func (l *langfuse) oldWindow(ctx context.Context, c client, w Window, take take) error {
	q := url.Values{"fromTimestamp": {stamp(w.From)}, "toTimestamp": {stamp(w.To)}, "fields": {"core"}, "limit": {strconv.Itoa(langfusePage)}, "orderBy": {"timestamp.desc"}}
	for n := 1; n <= maxPages; n++ {
		q.Set("page", strconv.Itoa(n))
		doc, err := c.get(ctx, langfuseOld, q)
		if err != nil {
			return err
		}
		var page struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
			Meta struct {
				Pages int `json:"totalPages"`
			} `json:"meta"`
		}
		if err := json.Unmarshal(doc, &page, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
			return fmt.Errorf("its page of traces cannot be read: %w", err)
		}
		for _, t := range page.Data {
			if !isName(t.ID) {
				continue
			}
			doc, err := c.get(ctx, langfuseOld+"/"+url.PathEscape(t.ID), nil)
			if s, _ := statusOf(err); s == http.StatusNotFound {
				continue // it was deleted meanwhile
			}
			if err != nil {
				return err
			}
			if !take([][]byte{doc}) {
				return nil
			}
		}
		if len(page.Data) == 0 || n >= page.Meta.Pages {
			return nil
		}
	}
	return fmt.Errorf("it has more than %d pages: the rest is not read", maxPages)
}

// isName says whether an id that came from outside may be asked for: it becomes a part of a path.
func isName(id string) bool {
	return id != "" && len(id) <= 200 && strings.Trim(id, ".") != "" && strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// stamp writes a moment as the APIs take it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

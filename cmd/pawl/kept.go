package main

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/triage"
	"github.com/pawl-dev/pawl/ingest/assemble"
	"github.com/pawl-dev/pawl/ingest/trajectory"
	"github.com/pawl-dev/pawl/ratchet"
)

// keptPlace is how far the list of kept traces has come: hours are listed from the newest back, of an hour one partition after the other, of that its
// traces by id.
type keptPlace struct {
	hour      time.Time // the zero place is the beginning
	partition int
	behind    string // a trace's id
}

func (p keptPlace) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join([]string{strconv.FormatInt(p.hour.Unix(), 10), strconv.Itoa(p.partition), p.behind}, " ")))
}

func placeOf(cursor string) (p keptPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.Split(string(text), " ")
	if err != nil || len(parts) != 3 || parts[2] != "" && !traceID.MatchString(parts[2]) {
		return p, triage.ErrCursor
	}
	hour, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return p, triage.ErrCursor
	}
	if p.partition, err = strconv.Atoi(parts[1]); err != nil || p.partition < 0 {
		return p, triage.ErrCursor
	}
	p.hour, p.behind = time.Unix(hour, 0).UTC(), parts[2]
	return p, nil
}

// maxLooked bounds how many traces one page looks at, so that a filter that lets few through does not hold a request up: the page is then short.
const maxLooked = 20_000

// A page takes no longer than this once it has looked at a good many.
const (
	longestLook = 200 * time.Millisecond
	manyLooked  = 2000
)

// kept lists kept traces from a cursor on.
func (s *server) kept(ctx context.Context, f triage.KeptFilter, cursor string, limit int) (triage.KeptPage, error) {
	page := triage.KeptPage{Traces: []triage.KeptTrace{}}
	at, err := placeOf(cursor)
	if err != nil {
		return page, err
	}
	hours, err := s.hours(f.Since)
	if err != nil {
		return page, err
	}
	looked, begun := 0, time.Now()
	for _, hour := range hours {
		if !at.hour.IsZero() && hour.After(at.hour) {
			continue
		}
		if !hour.Equal(at.hour) {
			at = keptPlace{hour: hour}
		}
		for ; at.partition < len(s.stores); at.partition, at.behind = at.partition+1, "" {
			for more := true; more; {
				if looked >= maxLooked || len(page.Traces) == limit || looked >= manyLooked && time.Since(begun) > longestLook {
					page.Next = at.cursor()
					return page, nil
				}
				n, err := s.keptHere(ctx, f, &at, limit, &page)
				if err != nil {
					return page, err
				}
				looked, more = looked+n, at.behind != ""
			}
		}
	}
	return page, nil
}

// hours are the hours that any partition keeps traces of, the newest first.
func (s *server) hours(since time.Time) (out []time.Time, err error) {
	for _, st := range s.stores {
		hours, err := st.Hours(since)
		if err != nil {
			return nil, err
		}
		out = append(out, hours...)
	}
	slices.SortFunc(out, func(a, b time.Time) int { return b.Compare(a) })
	return slices.CompactFunc(out, time.Time.Equal), nil
}

// keptHere adds what the next traces of one hour and partition are, and moves on behind them: to "" at the end. It says how many it looked at.
func (s *server) keptHere(ctx context.Context, f triage.KeptFilter, at *keptPlace, limit int, page *triage.KeptPage) (looked int, err error) {
	ks, last, err := s.stores[at.partition].Page(ctx, at.hour, at.behind)
	if err != nil {
		return 0, err
	}
	for _, k := range ks {
		if len(page.Traces) == limit {
			return looked, nil
		}
		looked, at.behind = looked+1, k.ID
		t, err := s.listed(ctx, at, k)
		if err != nil {
			return looked, err
		}
		if passes(f, &t) {
			page.Traces = append(page.Traces, t)
		}
	}
	at.behind = last
	return looked, nil
}

// listed is a kept trace as the list shows it. One that an earlier pawl judged, which left no summary, is judged again.
func (s *server) listed(ctx context.Context, at *keptPlace, k assemble.Kept) (triage.KeptTrace, error) {
	out := triage.KeptTrace{Kind: "trace", ID: k.ID, LastSeen: k.LastSeen.UTC(), Records: k.Records, Bytes: k.Bytes, Open: k.Open, Hour: at.hour, Labels: []classify.Label{}}
	note := k.Note
	if f := s.flags.Of(k.ID); f != nil && len(f.Note) > 0 { // it was judged again since
		note = f.Note
	}
	sum, known := ratchet.ReadSummary(note)
	if !known && !k.Open {
		t, err := s.stores[at.partition].Get(ctx, k.ID)
		switch {
		case errors.Is(err, assemble.ErrNotFound): // it went meanwhile
		case err != nil && ctx.Err() != nil:
			return out, err
		case err != nil: // it does not decode: it is in quarantine
			s.lg.Debug("a kept trace cannot be read", "trace", k.ID, "err", err)
		default:
			tr := trajectory.Build(t)
			sum, known = ratchet.Summarise(tr, s.report(tr)), true
		}
	}
	out.Labels = append(out.Labels, sum.Labels...)
	if known {
		out.Verdict, out.Start = &sum.Verdict, &sum.Start
		out.Service, out.Session = orNull(sum.Service), orNull(sum.SessionID)
	}
	return out, nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// passes says whether a trace is among those that were asked for.
func passes(f triage.KeptFilter, t *triage.KeptTrace) bool {
	text := strings.ToLower(f.Text)
	return (f.Service == "" || t.Service != nil && *t.Service == f.Service) &&
		(f.Verdict == "" || t.Verdict != nil && *t.Verdict == f.Verdict) &&
		(f.Label == "" || slices.Contains(t.Labels, f.Label)) &&
		!t.LastSeen.Before(f.Since) &&
		(text == "" || strings.Contains(t.ID, text) || t.Session != nil && strings.Contains(strings.ToLower(*t.Session), text))
}

// spans gives a kept trace as it came in.
func (s *server) spans(ctx context.Context, id string, hour time.Time) (triage.Recorded, error) {
	for _, st := range s.stores {
		raw, err := st.Raw(ctx, id, hour)
		if errors.Is(err, assemble.ErrNotFound) {
			continue
		}
		if err != nil {
			return triage.Recorded{}, err
		}
		doc, err := raw.JSON()
		return triage.Recorded{Document: doc, Truncated: raw.Truncated}, err
	}
	return triage.Recorded{}, triage.ErrNotFound
}

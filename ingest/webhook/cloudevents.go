package webhook

import (
	"cmp"
	"fmt"
	"mime"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

var errNoEvent = fmt.Errorf("%w: neither ce-id and ce-type in headers nor application/cloudevents+json", ErrMalformed)

type cloudEvent struct {
	ID          text  `json:"id"`
	Source      text  `json:"source"`
	Type        text  `json:"type"`
	Subject     text  `json:"subject"`
	Traceparent text  `json:"traceparent"`
	Data        plain `json:"data"`
}

// cloudevents reads one event, its attributes in headers or in the body, or a list of them. The trace is that of the extension traceparent, or what its data,
// a flag as POST /v1/flags takes it, names.
func cloudevents(d Delivery, _ time.Time) (Reading, error) {
	kind, _, err := mime.ParseMediaType(d.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch kind {
	case "application/cloudevents-batch+json":
		es, err := parse[[]cloudEvent](d.Body)
		if err != nil {
			return Reading{}, err
		}
		return eventsReading(es), nil
	case "application/cloudevents+json":
		e, err := parse[cloudEvent](d.Body)
		return eventsReading([]cloudEvent{e}), err
	}
	h := d.Header
	e := cloudEvent{ID: text(h.Get("Ce-Id")), Source: text(h.Get("Ce-Source")), Type: text(h.Get("Ce-Type")), Subject: text(h.Get("Ce-Subject")), Traceparent: text(h.Get("Ce-Traceparent"))}
	if e.ID == "" || e.Type == "" {
		return Reading{}, errNoEvent
	}
	if len(d.Body) > 0 {
		e.Data, err = parse[plain](d.Body)
	} else {
		err = nil
	}
	return eventsReading([]cloudEvent{e}), err
}

func eventsReading(es []cloudEvent) Reading {
	out := Reading{Why: "no event names a trace"}
	for _, e := range es {
		key := joined(" ", string(e.Source), string(e.ID))
		out.Key = joined("\n", out.Key, key)
		f := e.Data.flag()
		f.Source = ""
		f.RawID = cmp.Or(f.RawID, traceOf(string(e.Traceparent)))
		if f.RawID == "" && f.Window == nil {
			continue
		}
		f.Reason = joined(": ", string(e.Type), string(e.Subject), f.Reason)
		f.Project = cmp.Or(f.Project, string(e.Source))
		out.Claims = append(out.Claims, Claim{key, f})
	}
	if len(es) > 1 {
		out.Key = flag.Digest(out.Key)
	}
	return out
}

package webhook

import (
	"cmp"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// pagerduty reads a V3 event: an incident that begins, or a note on one, which may name a trace.
func pagerduty(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		Event struct {
			ID   text `json:"id"`
			Type text `json:"event_type"`
			At   text `json:"occurred_at"`
			Data struct {
				Title   text `json:"title"`
				Content text `json:"content"`
				URL     text `json:"html_url"`
				Urgency text `json:"urgency"`
				Service struct {
					Summary text `json:"summary"`
				} `json:"service"`
				Incident struct {
					Summary text `json:"summary"`
					URL     text `json:"html_url"`
				} `json:"incident"`
			} `json:"data"`
		} `json:"event"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	e := v.Event
	key, x := string(e.ID), e.Data
	f := flag.Flag{Reason: joined(": ", string(cmp.Or(x.Title, x.Incident.Summary)), string(x.Content)), Link: string(cmp.Or(x.URL, x.Incident.URL)),
		Severity: string(x.Urgency), Project: string(x.Service.Summary)}
	id := mentioned(f.Reason)
	switch {
	case e.Type == "pagey.ping":
		return Reading{Key: key, Test: true, Why: "a ping"}, nil
	case e.Type == "incident.triggered":
		f = on(f, id, leadingTo(e.At.at(), now, ""))
	case e.Type == "incident.annotated" && id != "":
		f.RawID = id
	default:
		return ignored(key, "PagerDuty's %q names no trace", e.Type), nil
	}
	return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
}

package webhook

import (
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// langfuse reads an automation's delivery. A monitor's alert is on a window; a changed prompt and a notice about the project say nothing bad of traces.
func langfuse(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		ID      text `json:"id"`
		Type    text `json:"type"`
		Payload struct {
			ProjectID     text `json:"projectId"`
			Severity      text `json:"severity"`
			Permalink     text `json:"permalink"`
			DataPermalink text `json:"dataPermalink"`
			Message       struct {
				Title text `json:"title"`
				Body  text `json:"body"`
			} `json:"message"`
			From text `json:"fromTimestamp"`
			To   text `json:"toTimestamp"`
		} `json:"payload"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	key, p := string(v.ID), v.Payload
	if v.Type != "monitor-alert" {
		return ignored(key, "Langfuse's %q says nothing bad of traces", v.Type), nil
	}
	if over(string(p.Severity)) {
		return ignored(key, "the alert is over"), nil
	}
	f := flag.Flag{Project: string(p.ProjectID), Severity: string(p.Severity), Link: joined("", string(p.Permalink)),
		Reason: joined(": ", string(p.Message.Title), string(p.Message.Body))}
	if f.Link == "" {
		f.Link = string(p.DataPermalink)
	}
	f = on(f, mentioned(f.Reason), between(p.From.at(), p.To.at(), now, ""))
	return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
}

// over says that a word for an alert's state means that all is well again.
func over(state string) bool {
	switch strings.ToLower(strings.TrimSpace(state)) {
	case "ok", "okay", "resolved", "recovered", "closed", "normal", "inactive":
		return true
	}
	return false
}

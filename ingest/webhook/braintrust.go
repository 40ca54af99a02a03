package webhook

import (
	"cmp"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// braintrust reads an automation's delivery: it counts logs in a window.
func braintrust(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		Project struct {
			Name text `json:"name"`
			ID   text `json:"id"`
		} `json:"project"`
		Automation struct {
			ID   text `json:"id"`
			Name text `json:"name"`
			URL  text `json:"url"`
		} `json:"automation"`
		Details struct {
			Test    bool `json:"is_test"`
			Message text `json:"message"`
			From    text `json:"time_start"`
			To      text `json:"time_end"`
			Logs    text `json:"related_logs_url"`
		} `json:"details"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	a, x := v.Automation, v.Details
	key := joined(" ", string(a.ID), string(x.From), string(x.To))
	if x.Test {
		return Reading{Key: key, Test: true, Why: "a test"}, nil
	}
	f := flag.Flag{Project: string(cmp.Or(v.Project.Name, v.Project.ID)), Link: string(cmp.Or(x.Logs, a.URL)), Reason: joined(": ", string(a.Name), string(x.Message))}
	f = on(f, mentioned(f.Reason), between(x.From.at(), x.To.at(), now, ""))
	return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
}

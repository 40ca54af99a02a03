package webhook

import (
	"cmp"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

type sentryEvent struct {
	ID       text `json:"event_id"`
	Title    text `json:"title"`
	Message  text `json:"message"`
	WebURL   text `json:"web_url"`
	IssueURL text `json:"issue_url"`
	Project  text `json:"project"`
	Level    text `json:"level"`
	Datetime text `json:"datetime"`
	Contexts struct {
		Trace struct {
			ID text `json:"trace_id"`
		} `json:"trace"`
	} `json:"contexts"`
}

// sentry reads an integration's delivery: an event with its trace, or an issue or a metric's alert, which are on what led to them. Which it is stands in a header.
func sentry(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		Action text `json:"action"`
		Data   struct {
			Event sentryEvent `json:"event"`
			Error sentryEvent `json:"error"`
			Rule  text        `json:"triggered_rule"`
			Issue struct {
				ID       text `json:"id"`
				Title    text `json:"title"`
				WebURL   text `json:"web_url"`
				Link     text `json:"permalink"`
				Level    text `json:"level"`
				LastSeen text `json:"lastSeen"`
			} `json:"issue"`
			Title  text `json:"description_title"`
			Text   text `json:"description_text"`
			WebURL text `json:"web_url"`
			Metric struct {
				ID      text `json:"id"`
				Started text `json:"date_started"`
			} `json:"metric_alert"`
		} `json:"data"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	key := d.Header.Get("Request-ID")
	claim := func(f flag.Flag) (Reading, error) { return Reading{Key: key, Claims: []Claim{{key, f}}}, nil }
	x := v.Data
	switch resource := d.Header.Get("Sentry-Hook-Resource"); resource {
	case "event_alert":
		return claim(x.Event.flag(string(x.Rule), now))
	case "error":
		return claim(x.Error.flag("", now))
	case "issue":
		if v.Action != "created" && v.Action != "unresolved" {
			return ignored(key, "an issue was %s", v.Action), nil
		}
		f := flag.Flag{Reason: string(x.Issue.Title), Severity: string(x.Issue.Level), Link: string(cmp.Or(x.Issue.WebURL, x.Issue.Link))}
		return claim(on(f, mentioned(f.Reason), leadingTo(x.Issue.LastSeen.at(), now, "")))
	case "metric_alert":
		if over(string(v.Action)) {
			return ignored(key, "the alert is over"), nil
		}
		return claim(flag.Flag{Reason: joined(": ", string(x.Title), string(x.Text)), Severity: string(v.Action), Link: string(x.WebURL), Window: leadingTo(x.Metric.Started.at(), now, "")})
	default:
		return ignored(key, "Sentry's %q says nothing bad of traces", resource), nil
	}
}

func (e sentryEvent) flag(rule string, now time.Time) flag.Flag {
	f := flag.Flag{Reason: joined(": ", rule, string(cmp.Or(e.Title, e.Message))), Link: string(cmp.Or(e.WebURL, e.IssueURL)), Severity: string(e.Level), Project: string(e.Project)}
	return on(f, string(e.Contexts.Trace.ID), leadingTo(e.Datetime.at(), now, ""))
}

package webhook

import (
	"cmp"
	"strings"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// plain is a flag as somebody writes it who writes to pawl: the data of a CloudEvent or a Standard Webhook, and the body of POST /v1/flags.
type plain struct {
	TraceID  text `json:"trace_id"`
	TraceID2 text `json:"traceId"`
	Window   *struct {
		From    text `json:"from"`
		To      text `json:"to"`
		Service text `json:"service"`
		Session text `json:"session"`
	} `json:"window"`
	Source   text `json:"source"`
	Reason   text `json:"reason"`
	Message  text `json:"message"`
	Link     text `json:"link"`
	URL      text `json:"url"`
	Severity text `json:"severity"`
	Project  text `json:"project"`
}

func (p plain) flag() flag.Flag {
	f := flag.Flag{RawID: string(cmp.Or(p.TraceID, p.TraceID2)), Source: string(p.Source), Reason: string(cmp.Or(p.Reason, p.Message)),
		Link: string(cmp.Or(p.Link, p.URL)), Severity: string(p.Severity), Project: string(p.Project)}
	if w := p.Window; w != nil {
		f.Window = &flag.Window{From: w.From.at(), To: w.To.at(), Service: string(w.Service), Session: string(w.Session)}
	}
	return f
}

// Plain reads the body of POST /v1/flags: {"trace_id" | "window": {"from", "to", "service", "session"}, "source", "reason", "link", "severity"}. The error is
// ErrMalformed; what else is wrong with the flag flag.New says.
func Plain(body []byte) (flag.Flag, error) {
	p, err := parse[plain](body)
	return p.flag(), err
}

// traceOf is the trace id of a W3C traceparent, "" for what is none.
func traceOf(traceparent string) string {
	parts := strings.Split(strings.TrimSpace(traceparent), "-")
	if len(parts) < 4 || len(parts[0]) != 2 {
		return ""
	}
	return flag.Normal(parts[1])
}

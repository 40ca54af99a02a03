package otlp

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

// counters count requests, items and bytes; no line is logged for any of them.
type counters struct {
	requests *prometheus.CounterVec // via, signal, outcome
	items    *prometheus.CounterVec // signal, outcome
	bytes    *prometheus.CounterVec // via, stage
}

func newCounters(to prometheus.Registerer) (*counters, error) {
	c := &counters{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_otlp_requests_total",
			Help: "Export requests by outcome: ok, partial, malformed, full, unavailable, too_large, or the reason they were not read."},
			[]string{"via", "signal", "outcome"}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_otlp_items_total",
			Help: "Spans and log records: accepted (stored), truncated (stored, cut), untraced (log records without a trace), adopted (the same, stored as spans), or why they were rejected or refused."},
			[]string{"signal", "outcome"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_otlp_bytes_total",
			Help: "Bytes of request bodies, as sent (wire) and inflated (body)."},
			[]string{"via", "stage"}),
	}
	if to == nil {
		return c, nil
	}
	for _, vec := range []prometheus.Collector{c.requests, c.items, c.bytes} {
		if err := to.Register(vec); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// request counts one request that was read.
func (c *counters) request(req Request, report wire.Report, err error) {
	signal := req.Signal.String()
	c.bytes.WithLabelValues(req.Via, "body").Add(float64(len(req.Body)))
	if err != nil {
		outcome := refuse(err).outcome
		c.requests.WithLabelValues(req.Via, signal, outcome).Inc()
		c.items.WithLabelValues(signal, outcome).Add(float64(report.Spans))
		return
	}
	outcome := "ok"
	if report.Rejected.Count > 0 {
		outcome = "partial"
	}
	c.requests.WithLabelValues(req.Via, signal, outcome).Inc()
	c.items.WithLabelValues(signal, "accepted").Add(float64(report.Spans))
	if report.Truncated > 0 {
		c.items.WithLabelValues(signal, "truncated").Add(float64(report.Truncated))
	}
	if report.Untraced > 0 {
		c.items.WithLabelValues(signal, "untraced").Add(float64(report.Untraced))
	}
	if report.Adopted > 0 {
		c.items.WithLabelValues(signal, "adopted").Add(float64(report.Adopted))
	}
	for _, why := range report.Rejected.Reasons {
		c.items.WithLabelValues(signal, why.Code).Add(float64(why.Count))
	}
}

// unread counts a request that was refused before its body was understood.
func (c *counters) unread(via, signal, outcome string) {
	c.requests.WithLabelValues(via, signal, outcome).Inc()
}

func (c *counters) wire(via string, n int) { c.bytes.WithLabelValues(via, "wire").Add(float64(n)) }

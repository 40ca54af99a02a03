package queue

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what goes in and what is refused. One count per message or request, never a label per trace.
type metrics struct {
	reg                       prometheus.Registerer
	all                       []prometheus.Collector
	messages, requests, bytes *prometheus.CounterVec // by signal
	group, seconds            prometheus.Histogram
	refused, quarantined      *prometheus.CounterVec // by reason
	received, lost            *prometheus.CounterVec // by subject
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{reg: reg}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "pawl", Subsystem: "queue", Name: name, Help: help}, labels)
		m.all = append(m.all, c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "pawl", Subsystem: "queue", Name: name, Help: help, Buckets: buckets})
		m.all = append(m.all, h)
		return h
	}
	m.messages = counter("published_messages_total", "Messages stored in SPANS, each with one sync.", "signal")
	m.requests = counter("published_requests_total", "Request bodies stored in SPANS.", "signal")
	m.bytes = counter("published_bytes_total", "Bytes of the request bodies stored in SPANS.", "signal")
	m.group = histogram("group_requests", "Request bodies per message.", prometheus.ExponentialBuckets(1, 2, 10))
	m.seconds = histogram("publish_seconds", "Time from sending a message to its being stored.", prometheus.ExponentialBuckets(0.0001, 3, 12))
	m.refused = counter("refused_total", "Request bodies not stored: memory, stream, too_large, unavailable, cancelled.", "reason")
	m.quarantined = counter("quarantined_total", "Entries put into quarantine.", "reason")
	m.received = counter("source_received_total", "Messages received from the team's own subjects.", "subject")
	m.lost = counter("source_lost_total", "Messages of a core NATS subject, which knows no acknowledgement, that could not be stored.", "subject")
	for _, c := range m.all {
		if err := reg.Register(c); err != nil {
			m.unregister()
			return nil, fmt.Errorf("queue: metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) unregister() {
	if m == nil {
		return
	}
	for _, c := range m.all {
		m.reg.Unregister(c)
	}
}

func (m *metrics) published(s Signal, requests, bytes int, took time.Duration) {
	m.messages.WithLabelValues(string(s)).Inc()
	m.requests.WithLabelValues(string(s)).Add(float64(requests))
	m.bytes.WithLabelValues(string(s)).Add(float64(bytes))
	m.group.Observe(float64(requests))
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) countRefusal(err error) {
	if err == nil {
		return
	}
	reason := "cancelled"
	if full, ok := errors.AsType[*FullError](err); ok && full.What == inMemory {
		reason = inMemory
	} else if ok {
		reason = "stream"
	} else if _, ok := errors.AsType[*TooLargeError](err); ok {
		reason = "too_large"
	} else if _, ok := errors.AsType[*UnavailableError](err); ok {
		reason = "unavailable"
	}
	m.refused.WithLabelValues(reason).Inc()
}

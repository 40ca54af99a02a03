package assemble

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	reg         prometheus.Registerer
	records     prometheus.Counter
	duplicates  prometheus.Counter
	unplaced    prometheus.Counter
	overflow    prometheus.Counter
	completed   *prometheus.CounterVec
	reopened    prometheus.Counter
	notAgent    prometheus.Counter
	quarantined *prometheus.CounterVec
	truncated   prometheus.Counter
	earlyPurge  prometheus.Counter
	failed      prometheus.Counter
	behind      prometheus.Gauge
	open        prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, partition int) (*metrics, error) {
	labels := prometheus.Labels{"partition": strconv.Itoa(partition)}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "pawl_assemble_" + name + "_total", Help: help, ConstLabels: labels})
	}
	byReason := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_assemble_" + name + "_total", Help: help, ConstLabels: labels}, []string{"reason"})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "pawl_assemble_" + name, Help: help, ConstLabels: labels})
	}
	m := &metrics{
		reg:         reg,
		records:     counter("records", "spans and log records stored"),
		duplicates:  counter("duplicates", "spans and log records that were there already"),
		unplaced:    counter("unplaced", "log records and spans without a trace id, which can join no trace"),
		overflow:    counter("overflow", "spans and log records beyond what a trace may hold"),
		reopened:    counter("reopened", "complete traces that late records opened again"),
		notAgent:    counter("not_agent", "complete traces that were none of an agent's and were dropped"),
		truncated:   counter("truncated", "traces handed over without records beyond a limit"),
		earlyPurge:  counter("early_purge", "times that the stream was purged below open traces because it filled up"),
		failed:      counter("failed", "times that a complete trace could not be handed over and has to come again"),
		quarantined: byReason("quarantined", "requests, stored values and traces that could not be read, by reason"),
		completed:   byReason("completed", "revisions of complete traces handed over, by reason"),
		behind:      gauge("behind", "messages of the stream not yet applied"),
		open:        gauge("open", "traces that are not complete, or not yet handed over"),
	}
	for i, c := range m.all() {
		if err := reg.Register(c); err != nil {
			for _, c := range m.all()[:i] {
				reg.Unregister(c)
			}
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.records, m.duplicates, m.unplaced, m.overflow, m.reopened, m.notAgent, m.quarantined, m.earlyPurge, m.failed, m.completed, m.truncated,
		m.behind, m.open}
}

func (m *metrics) unregister() {
	for _, c := range m.all() {
		m.reg.Unregister(c)
	}
}

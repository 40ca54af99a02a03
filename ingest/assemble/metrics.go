package assemble

import (
	"errors"
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
	quarantined prometheus.Counter
	earlyPurge  prometheus.Counter
	failed      prometheus.Counter
	behind      prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer, partition int) (*metrics, error) {
	labels := prometheus.Labels{"partition": strconv.Itoa(partition)}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "pawl_assemble_" + name + "_total", Help: help, ConstLabels: labels})
	}
	m := &metrics{
		reg:         reg,
		records:     counter("records", "spans and log records stored"),
		duplicates:  counter("duplicates", "spans and log records that were there already"),
		unplaced:    counter("unplaced", "log records and spans without a trace id, which can join no trace"),
		overflow:    counter("overflow", "spans and log records beyond what a trace may hold"),
		reopened:    counter("reopened", "complete traces that late records opened again"),
		notAgent:    counter("not_agent", "complete traces that were none of an agent's and were dropped"),
		quarantined: counter("quarantined", "requests and stored values that could not be read"),
		earlyPurge:  counter("early_purge", "times that the stream was purged below open traces because it filled up"),
		failed:      counter("failed", "times that a complete trace could not be handed over and has to come again"),
		completed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pawl_assemble_completed_total", Help: "traces completed, by reason",
			ConstLabels: labels}, []string{"reason"}),
		behind: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pawl_assemble_behind", Help: "messages of the stream not yet applied", ConstLabels: labels}),
	}
	for _, c := range m.all() {
		if err := reg.Register(c); err != nil {
			m.unregister()
			return nil, errors.Join(err)
		}
	}
	return m, nil
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.records, m.duplicates, m.unplaced, m.overflow, m.reopened, m.notAgent, m.quarantined, m.earlyPurge, m.failed, m.completed, m.behind}
}

func (m *metrics) unregister() {
	for _, c := range m.all() {
		m.reg.Unregister(c)
	}
}

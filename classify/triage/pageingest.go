package triage

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/ratchet"
)

// meter is a metric as the page of ingest health shows it.
type meter struct {
	Name, Help, Labels, Value string
	Bad                       bool // it counts what should not be, and is not 0
}

type meters struct {
	Name string
	List []meter
}

// badNews are parts of the names of metrics that count what should not be.
var badNews = []string{"refused", "quarantine", "dropped", "early_purge", "error", "failed", "broken", "corrupt", "truncated", "rejected", "lost", "skipped"}

// ingestPage answers GET /ingest: what came in, what became of it, and what others say.
func (h *handler) ingestPage(w http.ResponseWriter, r *http.Request) {
	d := struct {
		Meters   []meters
		Bad      []meter
		Services []ratchet.Service
		Flags    []flagged
		Silent   bool
	}{Flags: h.flagsFor(callerOf(r.Context()))}
	var err error
	if d.Services, err = h.src.Services(r.Context()); err != nil {
		h.failPage(w, r, err)
		return
	}
	if d.Silent = h.src.Metrics == nil; !d.Silent {
		fs, err := h.src.Metrics()
		if err != nil {
			h.failPage(w, r, err)
			return
		}
		d.Meters, d.Bad = metersOf(fs)
	}
	h.page(w, r, "ingest.html", "Ingest", d)
}

// metersOf sorts pawl's own metrics by the part that they are of. Of histograms the count and the mean are shown.
func metersOf(fs []*dto.MetricFamily) (out []meters, bad []meter) {
	parts := map[string][]meter{}
	for _, f := range fs {
		rest, ours := strings.CutPrefix(f.GetName(), "pawl_")
		if !ours {
			continue
		}
		part, _, _ := strings.Cut(rest, "_")
		for _, m := range f.GetMetric() {
			one := meter{Name: f.GetName(), Help: f.GetHelp(), Labels: labelsOf(m)}
			value, isCount := valueOf(m)
			one.Value = value
			one.Bad = isCount && value != "0" && slices.ContainsFunc(badNews, func(s string) bool {
				return strings.Contains(f.GetName(), s) || strings.Contains(one.Labels, s)
			})
			parts[part] = append(parts[part], one)
			if one.Bad {
				bad = append(bad, one)
			}
		}
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, meters{part, parts[part]})
	}
	return out, bad
}

func labelsOf(m *dto.Metric) string {
	var parts []string
	for _, l := range m.GetLabel() {
		parts = append(parts, l.GetName()+" "+l.GetValue())
	}
	return strings.Join(parts, ", ")
}

func valueOf(m *dto.Metric) (text string, isCount bool) {
	switch {
	case m.Counter != nil:
		return number(m.Counter.GetValue()), true
	case m.Gauge != nil:
		return number(m.Gauge.GetValue()), false
	case m.Histogram != nil:
		n := m.Histogram.GetSampleCount()
		if n == 0 {
			return "0", false
		}
		return number(float64(n)) + ", mean " + number(m.Histogram.GetSampleSum()/float64(n)), false
	case m.Summary != nil:
		return number(float64(m.Summary.GetSampleCount())), false
	}
	return number(m.GetUntyped().GetValue()), false
}

func number(v float64) string {
	if v == float64(int(v)) {
		return grouped(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// verdicts are a service's in the order in which they want a person.
func verdicts(s ratchet.Service) (out []labelCount) {
	all := 1
	for _, n := range s.Verdicts {
		all += n
	}
	for _, v := range []classify.Verdict{classify.Failing, classify.Unclassified, classify.Incomplete, classify.Passing} {
		out = append(out, labelCount{classify.Label(v), s.Verdicts[v], 100 * s.Verdicts[v] / all})
	}
	return out
}

// sortedKeys are a map's keys in an order.
func sortedKeys[K comparable, V any](m map[K]V, order func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), order)
}

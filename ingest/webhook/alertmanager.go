package webhook

import (
	"cmp"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// alertmanager reads a group of alerts of Prometheus' Alertmanager (version 4) or of Grafana (version 1), which writes the same and more. Each alert that
// fires is a claim, on the trace that one of its labels or annotations names, or else on what led to it.
func alertmanager(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		GroupKey    text  `json:"groupKey"`
		Labels      texts `json:"commonLabels"`
		Annotations texts `json:"commonAnnotations"`
		External    text  `json:"externalURL"`
		Alerts      []struct {
			Status      text  `json:"status"`
			Labels      texts `json:"labels"`
			Annotations texts `json:"annotations"`
			StartsAt    text  `json:"startsAt"`
			Generator   text  `json:"generatorURL"`
			Fingerprint text  `json:"fingerprint"`
			Values      text  `json:"valueString"`
			Panel       text  `json:"panelURL"`
		} `json:"alerts"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	out := Reading{Why: "no alert fires"}
	for _, a := range v.Alerts {
		out.Key = joined(" ", out.Key, string(a.Fingerprint), string(a.StartsAt), string(a.Status))
		if a.Status != "firing" {
			continue
		}
		labels, notes := a.Labels, a.Annotations
		f := flag.Flag{Severity: cmp.Or(labels["severity"], v.Labels["severity"]), Link: string(cmp.Or(a.Panel, a.Generator, v.External)),
			Reason: joined(": ", cmp.Or(labels["alertname"], v.Labels["alertname"]), cmp.Or(notes["summary"], notes["description"], notes["message"], v.Annotations["summary"]), string(a.Values))}
		id := cmp.Or(firstOf(labels, traceKeys), firstOf(notes, traceKeys), mentioned(notes["summary"], notes["description"]))
		service := cmp.Or(firstOf(labels, serviceKeys), firstOf(v.Labels, serviceKeys))
		key := joined(" ", string(v.GroupKey), string(a.Fingerprint), string(a.StartsAt))
		out.Claims = append(out.Claims, Claim{key, on(f, id, leadingTo(a.StartsAt.at(), now, service))})
	}
	if out.Key != "" {
		out.Key = flag.Digest(string(v.GroupKey), out.Key)
	}
	return out, nil
}

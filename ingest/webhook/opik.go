package webhook

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// opik reads an alert. Its metadata is a list of what happened, of which each tells its trace, or an object that tells which threshold was crossed.
func opik(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		ID        text `json:"id"`
		EventType text `json:"eventType"`
		AlertName text `json:"alertName"`
		CreatedAt text `json:"createdAt"`
		Payload   struct {
			Message  text           `json:"message"`
			Metadata jsontext.Value `json:"metadata"`
		} `json:"payload"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	key, event := string(v.ID), strings.ToLower(string(v.EventType))
	if strings.HasPrefix(event, "prompt") || strings.HasPrefix(event, "experiment") {
		return ignored(key, "Opik's %q says nothing bad of traces", v.EventType), nil
	}
	reason := joined(": ", string(v.AlertName), event, string(v.Payload.Message))
	switch v.Payload.Metadata.Kind() {
	case '[':
		return opikEvents(key, reason, v.Payload.Metadata)
	case '{':
		return opikThreshold(key, reason, v.Payload.Metadata, v.CreatedAt.at(), now)
	}
	return ignored(key, "Opik's %q names no trace", v.EventType), nil
}

func opikEvents(key, reason string, metadata jsontext.Value) (Reading, error) {
	items, err := parse[[]texts](metadata)
	if err != nil {
		return Reading{}, err
	}
	out := Reading{Key: key, Why: "its metadata names no trace"}
	for _, m := range items {
		id := cmp.Or(firstOf(m, traceKeys), m["entity_id"], m["entityId"], m["id"])
		if id == "" {
			continue
		}
		f := flag.Flag{RawID: id, Project: cmp.Or(m["project_name"], m["project_id"], m["projectId"]), Reason: reason}
		out.Claims = append(out.Claims, Claim{joined(" ", key, id), f})
	}
	return out, nil
}

func opikThreshold(key, reason string, metadata jsontext.Value, at, now time.Time) (Reading, error) {
	m, err := parse[texts](metadata)
	if err != nil {
		return Reading{}, err
	}
	w := leadingTo(at, now, "")
	if seconds, err := strconv.ParseFloat(m["window_seconds"], 64); err == nil && seconds > 0 && seconds <= flag.MaxWindow.Seconds() {
		w.From = w.To.Add(-time.Duration(seconds * float64(time.Second)))
	}
	f := flag.Flag{Project: m["project_ids"], Window: w, Reason: fmt.Sprintf("%s: %s is %s, threshold %s", reason, m["metric_name"], m["metric_value"], m["threshold"])}
	return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
}

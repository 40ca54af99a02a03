package webhook

import (
	"cmp"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// mlflow reads an event. Those of prompts and of the model registry, which MLflow sends, say nothing bad of traces; one that names a trace does. MLflow
// writes a trace's id as tr- and the id of OpenTelemetry.
func mlflow(d Delivery, _ time.Time) (Reading, error) {
	v, err := parse[struct {
		Entity text  `json:"entity"`
		Action text  `json:"action"`
		Data   texts `json:"data"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	key := d.Header.Get("X-MLflow-Delivery-Id")
	id := strings.TrimPrefix(cmp.Or(firstOf(v.Data, traceKeys), v.Data["request_id"]), "tr-")
	if id == "" {
		return ignored(key, "MLflow's %s of %s names no trace", v.Action, v.Entity), nil
	}
	reason := joined(": ", joined(" ", string(v.Entity), string(v.Action)), cmp.Or(v.Data["rationale"], v.Data["name"]))
	return Reading{Key: key, Claims: []Claim{{key, flag.Flag{RawID: id, Reason: reason, Project: v.Data["experiment_id"]}}}}, nil
}

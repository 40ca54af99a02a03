package webhook

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// langsmith reads a rule's delivery, which is on runs, and an alert's, which is on what led to it.
func langsmith(d Delivery, now time.Time) (Reading, error) {
	v, err := parse[struct {
		RuleID text `json:"rule_id"`
		Runs   []struct {
			ID      text `json:"id"`
			TraceID text `json:"trace_id"`
			Session text `json:"session_id"`
			Path    text `json:"app_path"`
			Status  text `json:"status"`
			Error   text `json:"error"`
		} `json:"runs"`
		Project   text `json:"project_name"`
		AlertID   text `json:"alert_rule_id"`
		AlertName text `json:"alert_rule_name"`
		Attribute text `json:"alert_rule_attribute"`
		Value     text `json:"triggered_metric_value"`
		Threshold text `json:"triggered_threshold"`
		At        text `json:"timestamp"`
	}](d.Body)
	if err != nil {
		return Reading{}, err
	}
	if name := cmp.Or(v.AlertName, v.AlertID); name != "" {
		key := joined(" ", string(cmp.Or(v.AlertID, v.AlertName)), string(v.At))
		f := flag.Flag{Project: string(v.Project), Reason: fmt.Sprintf("alert %s: %s is %s, threshold %s", name, v.Attribute, v.Value, v.Threshold), Window: leadingTo(v.At.at(), now, "")}
		return Reading{Key: key, Claims: []Claim{{key, f}}}, nil
	}
	out := Reading{Why: "no runs"}
	for _, r := range v.Runs {
		trace := string(cmp.Or(r.TraceID, r.ID))
		key := joined(" ", string(v.RuleID), trace)
		if slices.ContainsFunc(out.Claims, func(c Claim) bool { return c.Key == key }) { // several runs of one trace
			continue
		}
		out.Key = joined(" ", out.Key, string(r.ID))
		reason := joined(": ", fmt.Sprintf("rule %s matched a run of status %s", v.RuleID, cmp.Or(r.Status, "unknown")), string(r.Error))
		out.Claims = append(out.Claims, Claim{key, flag.Flag{RawID: trace, Project: string(r.Session), Link: string(r.Path), Reason: reason}})
	}
	if out.Key != "" {
		out.Key = flag.Digest("rule", string(v.RuleID), out.Key)
	}
	return out, nil
}

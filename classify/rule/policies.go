package rule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/order"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// policies returns the team's entries that are for an agent of the trace.
func policies(in *classify.Input, agent string) []*classify.Policy {
	var out []*classify.Policy
	for i := range in.Policy {
		if p := &in.Policy[i]; p.Concerns(agent, in.Trajectory.Service) {
			out = append(out, p)
		}
	}
	return out
}

// concerned says whether an entry that has lines of a kind is for the trace's service or any agent in it.
func concerned(in *classify.Input, has func(*classify.Policy) bool) bool {
	for _, agent := range append([]string{""}, in.Trajectory.Agents...) {
		if slices.ContainsFunc(policies(in, agent), has) {
			return true
		}
	}
	return false
}

// isTool says whether a call's tool is the one that a policy names: the name, with or without what frameworks put around it, or a pattern of it.
func isTool(called, named string) bool {
	short := catalog.Normalise(called)
	if called == named || short == catalog.Normalise(named) {
		return true
	}
	if !strings.ContainsAny(named, "*?[") {
		return false
	}
	whole, err := path.Match(named, called)
	part, _ := path.Match(named, short)
	return err == nil && (whole || part)
}

// lacksPolicy answers that there is nothing to judge by.
func lacksPolicy(in *classify.Input, lines string, minRuns int) classify.Result {
	runs := in.Baseline.Runs(baseline.KeyOf(in.Trajectory))
	return classify.Blind(trajectory.FactPolicy, fmt.Sprintf("write %s under policy: in pawl.yaml, or let pawl learn from %d healthy runs of the route (it knows %d): pawl baseline learn",
		lines, minRuns, runs))
}

// known says whether enough runs of the route showed one of the subjects of a kind that this run shows; true where it shows none and enough runs of
// the route are known.
func known(in *classify.Input, kind order.Kind, minRuns int) bool {
	key := baseline.KeyOf(in.Trajectory)
	if in.Baseline.Runs(key) < minRuns {
		return false
	}
	any := false
	for _, h := range runOf(in).Habits {
		if h.Kind != kind {
			continue
		}
		any = true
		if in.Baseline.Shown(key, kind, h.Of) >= minRuns {
			return true
		}
	}
	return !any
}

// heldIn says how often something was so.
func heldIn(in *classify.Input, runs int) string {
	return fmt.Sprintf("held in %d of %d healthy runs of this route (%s)", runs, runs, whence(in))
}

// saidBefore lists what the user said up to a step, in order: the messages of the trace, and those that the model was told from before it.
func saidBefore(t *trajectory.Trajectory, step int) []string {
	var past, out []string
	for _, s := range t.Steps[:max(0, min(step, len(t.Steps)))] {
		switch s.Kind {
		case trajectory.StepUser:
			out = append(out, s.Text)
		case trajectory.StepModel:
			for _, m := range t.ModelCalls[s.Index].New {
				if text := spokenIn(m); m.Role == "user" && text != "" {
					past = append(past, text)
				}
			}
		}
	}
	return append(past, slices.DeleteFunc(out, func(s string) bool { return strings.TrimSpace(s) == "" })...)
}

func spokenIn(m trajectory.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == trajectory.PartText && strings.TrimSpace(p.Text) != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// scenarioTally counts the captures of one label: those where it is primary, those where it was found and something else is, those where the rule
// said that it could not see, those that were missed, and those whose rule is not there yet or needs the team's policy.
type scenarioTally struct{ primary, beside, blind, missed, noRule int }

// TestScenarios holds, over what real SDKs sent, that what was done wrong is what pawl calls the root cause, in every dialect that carries the facts,
// and that the healthy scenarios have no finding that would make them fail. With -v it prints every capture that is not so.
func TestScenarios(t *testing.T) {
	rows := manifest(t)
	e := engineWith(t, All(), shopPolicy)
	baselines := map[string]*baseline.Snapshot{}
	tallies := map[string]*scenarioTally{}
	for _, c := range rows {
		if baselines[c.sdk] == nil {
			baselines[c.sdk] = healthy(t, rows, c.sdk)
		}
		reports := c.reports(t, e, baselines[c.sdk])
		if len(c.labels) == 0 {
			sound(t, c, reports)
			continue
		}
		n := tallies[c.labels[0]]
		if n == nil {
			n = new(scenarioTally)
			tallies[c.labels[0]] = n
		}
		n.count(t, c, reports)
	}
	for _, l := range classify.Labels() {
		if n := tallies[string(l)]; n != nil {
			t.Logf("%-28s primary %3d  beside another %3d  cannot see %3d  missed %3d  no rule %3d", l, n.primary, n.beside, n.blind, n.missed, n.noRule)
		}
	}
}

// reports classifies the capture's traces, with what their sessions show.
func (c capture) reports(t *testing.T, e *classify.Engine, base *baseline.Snapshot) (out []classify.Report) {
	parts := c.trajectories(t)
	for _, session := range trajectory.Sessions(parts) {
		whole := trajectory.Join(session)
		spanning := e.ClassifySession(whole, base)
		for _, p := range session {
			p = whole.Settle(p)
			out = append(out, e.WithSession(p, e.Classify(p, base), spanning))
		}
	}
	return out
}

// sound holds that a healthy capture has nothing that matters.
func sound(t *testing.T, c capture, reports []classify.Report) {
	for _, r := range reports {
		for _, f := range r.Findings {
			if f.Severity != classify.Info {
				t.Errorf("%s %s is healthy and has %s: %s", c.sdk, c.scenario, f.Label, f.Why)
			}
		}
	}
}

func (n *scenarioTally) count(t *testing.T, c capture, reports []classify.Report) {
	var rules []classify.Rule
	for _, r := range All() {
		if slices.Contains(c.labels, string(r.Label)) {
			rules = append(rules, r)
		}
	}
	found, primary, others, blind := false, false, []string{}, ""
	for _, rep := range reports {
		for _, r := range rules {
			said, lacks := saidOf(r, []classify.Report{rep})
			found = found || len(said) > 0
			if lacks != "" {
				blind = lacks
			}
		}
		if p := rep.Primary; p != nil && slices.Contains(c.labels, string(*p)) {
			primary = true
		} else if p != nil {
			others = append(others, string(*p))
		}
	}
	switch {
	case len(rules) == 0:
		n.noRule++
	case primary:
		n.primary++
	case found:
		n.beside++
		t.Errorf("%s %s: %s is found and %s is primary", c.sdk, c.scenario, strings.Join(c.labels, ","), strings.Join(others, ","))
	case blind != "" || !c.visible:
		n.blind++
		t.Logf("%s %s: %s cannot be seen: %s; primary is %v", c.sdk, c.scenario, c.labels, blind, others)
	default:
		n.missed++
		t.Errorf("%s %s: %s is missed; primary is %v", c.sdk, c.scenario, strings.Join(c.labels, ","), others)
	}
}

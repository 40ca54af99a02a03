package rule

import (
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/classify"
	"github.com/pawl-dev/pawl/classify/baseline"
	"github.com/pawl-dev/pawl/classify/change"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// What real SDKs sent is healed by what its rules say heals it, and found again in its twins. Where no repair of the rule applies, or a twin cannot be made, the
// log tells.
func TestCapturesHealAndTwin(t *testing.T) {
	rows := manifest(t)
	e := engine(t)
	baselines := map[string]*baseline.Snapshot{}
	healed, found := 0, 0
	for _, c := range rows {
		if len(c.labels) == 0 {
			continue
		}
		if baselines[c.sdk] == nil {
			baselines[c.sdk] = healthy(t, rows, c.sdk)
		}
		base := baselines[c.sdk]
		for _, tr := range c.trajectories(t) {
			for _, f := range e.Classify(tr.Clone(), base).Findings {
				i := slices.IndexFunc(All(), func(r classify.Rule) bool { return r.ID() == f.Rule })
				if !slices.Contains(c.labels, string(f.Label)) || i < 0 {
					continue
				}
				r := All()[i]
				one := engineOf(t, []classify.Rule{r})
				find := func(tr *trajectory.Trajectory) []classify.Finding { return one.Classify(tr.Clone(), base).Findings }
				found++
				n := 0
				for _, x := range r.Repairs {
					_, times, gone := change.Until(tr, x, f, find)
					if times == 0 {
						continue
					}
					n++
					if !gone {
						t.Errorf("%s %s: %s is still there after %d times %s", c.sdk, c.scenario, f.Fingerprint.ID(), times, x.Name)
					}
				}
				if n > 0 {
					healed++
				} else {
					t.Errorf("%s %s: no repair applies to %s", c.sdk, c.scenario, f.Fingerprint.ID())
				}
				for _, w := range append(change.Twins(), r.Twins...) {
					if again, made := change.Again(tr, w, f, find); made && !again {
						t.Errorf("%s %s: %s is not found where %s", c.sdk, c.scenario, f.Fingerprint.ID(), w.Does)
					}
				}
			}
		}
	}
	t.Logf("%d findings, %d of them with a repair that applies", found, healed)
}

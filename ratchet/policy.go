package ratchet

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify"
)

// triageOnly are the labels that reach a pull request only when a person approves: outside faults and drifts, not the agent's doing.
var triageOnly = []classify.Label{"upstream_error", "latency_spike", "silent_timeout", "model_drift", "binding_drift", "protocol_error", "permission_denied"}

// Policy says which groups become cases. The zero value takes every blocking failure that has a form, at once, whatever is known of its rule.
type Policy struct {
	Labels        []classify.Label // empty: all
	MinCount      int              // sightings that a failure which is not blocking needs
	MinConfidence float64          // 0..1
	Every         bool             // every failure that has a form, unless a person said no

	MinJudged int                  // judged findings that the version of a rule needs before it opens pull requests by itself; 0: none
	Measured  map[string]Precision // what is known of versions of rules, by name@version
	Own       map[string]Precision // and of what the team decided, as Own counts it

	Now time.Time // for what is put off until a time; zero: nothing is

	Judges map[string]Agreement // how judges agree with people, by their ids

	Held  map[string]string // why nothing new is proposed to a repository
	Ranks map[string]int    // of the groups that are due, by fingerprint digest: the worst is 1
}

// Due says whether the group is to become a case, and in any case why or why not, in words for a status column.
func (p Policy) Due(g *Group) (due bool, why string) {
	if d, denied := g.Denied(); denied {
		return false, fmt.Sprintf("%s by %s: %s", pastTense(d.Choice), d.Who, d.Reason)
	}
	if !p.Now.IsZero() && !g.SnoozedUntil(p.Now).IsZero() {
		d, _ := g.latest(ChoiceSnooze)
		return false, fmt.Sprintf("put off by %s until %s", d.Who, d.Until.Format("2006-01-02 15:04"))
	}
	if g.Fingerprint.Label == classify.NoLabel {
		return false, "no rule explains it: it waits for a person"
	}
	if _, confirmed := g.latest(ChoiceLabel); g.Source == classify.SourceJudge && !confirmed && !g.Approved() {
		may, known := p.judged(g)
		if !may {
			return false, known
		}
		if g.Form == classify.FormNone || g.Form == "" {
			return false, known + "; a case cannot assert what no rule sees: propose a rule of it"
		}
	}
	if g.Form == classify.FormNone || g.Form == "" {
		if g.Offer != nil {
			return false, fmt.Sprintf("the rule %s was offered by %s: its cases are in batch %s", g.Offer.Rule, g.Offer.Who, g.Offer.Batch)
		}
		if _, labelled := g.latest(ChoiceLabel); labelled {
			return false, "a person named it and no rule sees it: propose a rule of it, for a case asserts what a rule finds"
		}
		return false, "reported only: a case cannot assert this label"
	}
	if g.Approved() || p.Every {
		return true, "approved"
	}
	if due, why = p.wants(g); !due {
		return false, why
	}
	trusted, known := p.trusts(g.Rule)
	if !trusted {
		return false, known
	}
	if known != "" {
		why += "; " + known
	}
	return true, why
}

// wants says whether the group is one of those that the policy takes, whatever its rule's precision.
func (p Policy) wants(g *Group) (due bool, why string) {
	switch label := g.Fingerprint.Label; {
	case slices.Contains(triageOnly, label):
		return false, "for a person, as " + string(label) + " is not the agent's doing alone"
	case len(p.Labels) > 0 && !slices.Contains(p.Labels, label):
		return false, "absorb.labels leaves it out"
	case g.Confidence < p.MinConfidence:
		return false, fmt.Sprintf("confidence %.2f is below absorb.min_confidence %.2f", g.Confidence, p.MinConfidence)
	case g.Severity == classify.Blocking:
		return true, "blocking"
	case g.Severity == classify.Info:
		return false, "info only"
	}
	sightings := g.Count
	if len(g.Sessions) < maxSessions { // of more sessions than are kept it is enough to know that they are many
		sightings = min(g.Count, len(g.Sessions))
	}
	if sightings < p.MinCount {
		return false, fmt.Sprintf("seen in %d of the %d sessions that absorb.min_count asks for", sightings, p.MinCount)
	}
	if len(p.Labels) > 0 {
		return true, "seen " + times(sightings)
	}
	return false, "warning: only blocking failures are absorbed without a person or a line in absorb.labels"
}

func pastTense(choice string) string {
	switch choice {
	case "deny":
		return "denied"
	case "dismiss":
		return "dismissed"
	}
	return choice
}

// Target is a repository that takes the cases of some services.
type Target struct {
	Service string // glob
	Repo    string // owner/name
	Base    string
	Set     string // directory of the set inside the repository
}

// TargetFor returns the first target whose glob matches the service, as its traces name it. A name has no levels: a star stands for slashes too.
func TargetFor(targets []Target, service string) (Target, bool) {
	flat := strings.NewReplacer("/", "\x00")
	for _, t := range targets {
		if ok, err := path.Match(flat.Replace(t.Service), flat.Replace(service)); err == nil && ok {
			return t, true
		}
	}
	return Target{}, false
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

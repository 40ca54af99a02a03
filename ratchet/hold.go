package ratchet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ingest/queue"
)

// Repo is what is known of a repository that pull requests go to, by its name in the repos bucket.
type Repo struct {
	Since     time.Time `json:"since"`               // when pawl first was to open pull requests there
	OpenedBy  string    `json:"opened_by,omitzero"`  // who ended the warm-up, or the stop, last
	OpenedAt  time.Time `json:"opened_at,omitzero"`  // when
	Stopped   string    `json:"stopped,omitzero"`    // why too many new failures at once are not believed
	StoppedAt time.Time `json:"stopped_at,omitzero"` // when that was seen
}

// holdEvery is how often it is looked at what a repository is to be spared: it takes a look at every group.
const holdEvery = time.Minute

// why is why nothing new is proposed to a repository, "" where something is.
func (a *Absorber) why(repo string) string {
	a.holding.Lock()
	defer a.holding.Unlock()
	return a.spared[repo]
}

// Held says, by repository, why nothing new is proposed to it.
func (a *Absorber) Held() map[string]string {
	a.holding.Lock()
	defer a.holding.Unlock()
	return maps.Clone(a.spared)
}

// holdRepos finds out which repositories are in their warm-up and which get too many new failures at once. Groups that waited for one that is free now are
// looked at again. It returns the groups when it had to look at them.
func (a *Absorber) holdRepos(ctx context.Context, now time.Time, policy Policy) ([]Group, error) {
	if a.opts.Mode != ghpr.ModeOpen || a.opts.WarmUp <= 0 && a.opts.NewGroups <= 0 {
		return nil, nil
	}
	a.holding.Lock()
	fresh := a.spared != nil && recently(now, a.sparedAt, holdEvery)
	a.holding.Unlock()
	if fresh {
		return nil, nil
	}
	gs, err := a.Groups(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string]string{}
	for _, t := range a.opts.Targets {
		if _, done := held[t.Repo]; done {
			continue
		}
		if held[t.Repo], err = a.holdRepo(ctx, now, t, gs, policy); err != nil {
			return nil, err
		}
	}
	a.holding.Lock()
	a.spared, a.sparedAt = held, now
	a.holding.Unlock()
	for _, fp := range slices.Sorted(maps.Keys(a.gated)) {
		if held[a.gated[fp]] == "" {
			delete(a.gated, fp)
			a.touch(fp, false)
		}
	}
	return gs, nil
}

func (a *Absorber) holdRepo(ctx context.Context, now time.Time, t Target, gs []Group, policy Policy) (string, error) {
	r, err := a.repo(ctx, now, t.Repo)
	if err != nil {
		return "", err
	}
	begun := Batch{Repo: t.Repo, Base: t.Base, Onboard: &Onboarding{}}
	b, err := a.batch(ctx, begun.Key())
	if errors.Is(err, queue.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return "", err
	}
	if in := b.Intent; in != nil && in.Receipt.State == ghpr.StateClosed && r.OpenedAt.Before(in.Receipt.ObservedAt) {
		return fmt.Sprintf("the onboarding (pull request %d) was closed without a merge; `pawl open %s` proposes cases all the same", in.Receipt.Number, t.Repo), nil
	}
	if end := r.Since.Add(a.opts.WarmUp); r.OpenedAt.IsZero() && now.Before(end) {
		return fmt.Sprintf("warm-up until %s, or until `pawl open %s`", end.UTC().Format("2006-01-02 15:04"), t.Repo), nil
	}
	since := r.OpenedAt
	if end := r.Since.Add(a.opts.WarmUp); since.IsZero() {
		since = end // what came in the warm-up is no flood
	}
	if r.Stopped == "" {
		if r.Stopped = flood(t, a.opts.Targets, gs, policy, later(since, now.Add(-time.Hour)), a.opts.NewGroups); r.Stopped == "" {
			return "", nil
		}
		a.lg.Error("too many new failures at once: nothing new is proposed", "repo", t.Repo, "why", r.Stopped)
		err = a.changeRepo(ctx, t.Repo, func(s *Repo) bool { s.Stopped, s.StoppedAt = r.Stopped, now.UTC(); return true })
	}
	return fmt.Sprintf("stopped: %s; `pawl open %s` goes on", r.Stopped, t.Repo), err
}

// flood says that more than limit failures were first seen since a time, and of which rule and service most of them are: one that is broken, or whose
// exporter is.
func flood(t Target, targets []Target, gs []Group, policy Policy, since time.Time, limit int) string {
	if limit <= 0 {
		return ""
	}
	rules, services, n := map[string]int{}, map[string]int{}, 0
	for i := range gs {
		g := &gs[i]
		to, ok := TargetFor(targets, g.service())
		if due, _ := policy.Due(g); !due || !ok || to.Repo != t.Repo || !g.FirstSeen.After(since) || g.Merged != nil {
			continue
		}
		n++
		rules[g.Rule]++
		services[g.service()]++
	}
	if n <= limit {
		return ""
	}
	rule, service := most(rules), most(services)
	return fmt.Sprintf("%d new failures within an hour, %d of them by %s and %d in %s: a rule or an exporter is broken", n, rules[rule], rule, services[service], service)
}

func most(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x, y)) })
	return names[0]
}

// repo reads what is known of a repository; the first look begins its warm-up.
func (a *Absorber) repo(ctx context.Context, now time.Time, name string) (r Repo, err error) {
	err = a.changeRepo(ctx, name, func(stored *Repo) bool {
		begins := stored.Since.IsZero()
		if begins {
			stored.Since = now.UTC()
		}
		r = *stored
		return begins
	})
	return r, err
}

func (a *Absorber) changeRepo(ctx context.Context, name string, change func(*Repo) bool) error {
	err := a.q.Repos.Update(ctx, strings.ToLower(name), func(old []byte) ([]byte, error) {
		var r Repo
		if old != nil {
			if err := json.Unmarshal(old, &r); err != nil {
				return nil, err
			}
		}
		if !change(&r) {
			return nil, nil
		}
		return json.Marshal(r)
	})
	if err != nil {
		return fmt.Errorf("repository %s: %w", name, err)
	}
	return nil
}

// ErrNoTarget says that no line of targets names the repository.
var ErrNoTarget = errors.New("no line of targets in pawl.yaml names this repository")

// Open ends a repository's warm-up, or goes on after too many new failures at once.
func (a *Absorber) Open(ctx context.Context, now time.Time, repo, who string) error {
	if !slices.ContainsFunc(a.opts.Targets, func(t Target) bool { return strings.EqualFold(t.Repo, repo) }) {
		return ErrNoTarget
	}
	err := a.changeRepo(ctx, repo, func(r *Repo) bool {
		r.Since = cmp.Or(r.Since, now.UTC())
		r.OpenedBy, r.OpenedAt, r.Stopped, r.StoppedAt = clip(who, 200), now.UTC(), "", time.Time{}
		return true
	})
	a.holding.Lock()
	a.sparedAt = time.Time{}
	a.holding.Unlock()
	return err
}

// Ranks orders the groups that are due, the worst first: by severity, then how many sessions saw it, how often, how sure the rule is.
func Ranks(gs []Group, policy Policy) map[string]int {
	var due []*Group
	for i := range gs {
		if ok, _ := policy.Due(&gs[i]); ok && gs[i].Batch == "" && gs[i].Merged == nil {
			due = append(due, &gs[i])
		}
	}
	slices.SortFunc(due, func(x, y *Group) int {
		return cmp.Or(cmp.Compare(rank(y.Severity), rank(x.Severity)), cmp.Compare(len(y.Sessions), len(x.Sessions)), cmp.Compare(y.Count, x.Count),
			cmp.Compare(y.Confidence, x.Confidence), cmp.Compare(x.ID(), y.ID()))
	})
	out := map[string]int{}
	for i, g := range due {
		out[g.Fingerprint.Digest()] = i + 1
	}
	return out
}

// seriesKey names the batches that are numbered with this one.
func (b *Batch) seriesKey() string {
	return fmt.Sprintf("%s %s %s %s", b.Repo, b.Base, b.Label, b.Service)
}

// cooling says until when each series of batches waits after its last merge.
func cooling(bs []Batch, span time.Duration) map[string]time.Time {
	out := map[string]time.Time{}
	for i := range bs {
		if in := bs[i].Intent; span > 0 && bs[i].Onboard == nil && in != nil && in.Receipt.State == ghpr.StateMerged {
			out[bs[i].seriesKey()] = later(out[bs[i].seriesKey()], in.Receipt.ObservedAt.Add(span))
		}
	}
	return out
}

// weight orders batches: how often the failures of their cases were seen.
func (b *Batch) weight() (n int) {
	for i := range b.Members {
		n += b.Members[i].Count
	}
	return n
}

// Onboard gives the files that a repository begins with, for one of its targets: pawl.yaml, the workflow, the set's README.md, by their paths.
type Onboard func(t Target) []ghpr.File

// Onboarding is what a batch that onboards a repository brings beside its case.
type Onboarding struct {
	Files    []ghpr.File `json:"files"`
	Workflow string      `json:"workflow,omitzero"` // left out of Files, for GitHub refused it: people are to add it
}

const workflowFile = ".github/workflows/pawl.yml"

// onboard proposes to each repository in its warm-up what it begins with, with the case of the worst failure as an example; once, whatever became of it.
func (a *Absorber) onboard(ctx context.Context, now time.Time, gs []Group, policy Policy, base baselines) error {
	if a.opts.Onboard == nil || a.opts.WarmUp <= 0 {
		return nil
	}
	var errs []error
	ranks := Ranks(gs, policy)
	slices.SortFunc(gs, func(x, y Group) int { return cmp.Compare(ranks[x.Fingerprint.Digest()], ranks[y.Fingerprint.Digest()]) })
	for i, t := range a.opts.Targets {
		if !strings.HasPrefix(a.why(t.Repo), "warm-up") || slices.ContainsFunc(a.opts.Targets[:i], func(o Target) bool { return o.Repo == t.Repo && o.Base == t.Base }) {
			continue
		}
		b := Batch{Repo: t.Repo, Base: t.Base, Set: t.Set, Number: 1, Onboard: &Onboarding{Files: a.opts.Onboard(t)}}
		if old, err := a.batch(ctx, b.Key()); err == nil && len(old.Members) > 0 || err != nil && !errors.Is(err, queue.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		if err := a.example(ctx, now, &b, t, gs, ranks, base); err != nil {
			errs = append(errs, fmt.Errorf("onboarding of %s: %w", t.Repo, err))
		}
	}
	return errors.Join(errs...)
}

// example lets the worst failure of which a case can be made join the onboarding.
func (a *Absorber) example(ctx context.Context, now time.Time, b *Batch, t Target, gs []Group, ranks map[string]int, base baselines) error {
	there := false
	asked, err := a.asks.ask(ctx, t.Repo, func(ctx context.Context) (err error) {
		there, err = a.pr.Has(ctx, t.Repo, t.Base, "pawl.yaml")
		return err
	})
	if there || !asked || err != nil {
		return err // it is onboarded already, or not known to be none
	}
	tries := 0
	for i := range gs {
		g := &gs[i]
		fp := g.Fingerprint.Digest()
		if to, ok := TargetFor(a.opts.Targets, g.service()); ranks[fp] == 0 || !ok || to != t || len(g.Specimens) == 0 {
			continue
		}
		b.Label, b.Service = g.Fingerprint.Label, g.Fingerprint.Service
		if err := a.propose(ctx, now, fp, g, t, false, base, b); err != nil {
			return err
		}
		if now, err := a.Group(ctx, fp); err != nil || now.Batch != "" {
			return err
		}
		if tries++; tries == 5 {
			return nil
		}
	}
	return nil
}

func (a *Absorber) joinOnboarding(ctx context.Context, now time.Time, b *Batch, m Member) (string, error) {
	return b.Key(), a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Number == 0 || len(stored.Members) == 0 && stored.unsent() {
			*stored = *b
		}
		if !stored.Collecting() || len(stored.Members) > 0 && stored.member(m.Fingerprint) < 0 {
			return errRace
		}
		stored.Opened, stored.Shut = now.UTC(), true
		stored.Join(m)
		return nil
	})
}

// change makes an onboarding of what would be a pull request with one case.
func (o *Onboarding) change(b *Batch, c *ghpr.Change) {
	c.Kind, c.Slug, c.Title = ghpr.KindOnboard, "onboarding", "pawl: begin a set of regression cases in "+b.Set
	if len(c.Title) > ghpr.MaxTitle {
		c.Title = "pawl: begin a set of regression cases"
	}
	lead := "This begins a set of regression cases in `" + b.Set + "`: configuration, the check that runs on each pull request, and one example case. Nothing else is " +
		"proposed while pawl warms up. **Merging** takes it; **closing** it says that pawl shall not begin here. What is in `pawl.yaml` can be changed at any time: " +
		"`enabled: false` on this branch switches pawl off."
	blocks := []ghpr.Block{{Text: lead}}
	if o.Workflow != "" {
		blocks = append(blocks, ghpr.Block{Text: "GitHub does not let pawl write workflows (the App lacks the permission _workflows_). Please add this as `" + workflowFile + "`:\n\n" + ghpr.Fence("yaml", o.Workflow)})
	}
	c.Body = append(blocks, c.Body...)
	c.Files = append(c.Files, o.Files...)
}

// workflowRefused says that GitHub refused the onboarding because of its workflow, and nothing of it was made.
func (b *Batch) workflowRefused() bool {
	in := b.Intent
	if b.Onboard.Workflow != "" || in.Receipt.Number != 0 || in.InDoubt() || in.Steps.Ref.Outcome == ghpr.Confirmed {
		return false
	}
	said := in.Waiting + in.Steps.Ref.Note
	if in.Parked != nil {
		said += in.Parked.Reason + strings.Join(in.Parked.Evidence, " ")
	}
	return strings.Contains(strings.ToLower(said), "workflow")
}

// dropWorkflow freezes the onboarding anew without the workflow, whose text goes into the body.
func (a *Absorber) dropWorkflow(ctx context.Context, b *Batch) error {
	return a.changeBatch(ctx, b.Key(), func(stored *Batch) error {
		if stored.Intent == nil || stored.Intent.ID != b.Intent.ID || !stored.workflowRefused() {
			return errRace
		}
		i := slices.IndexFunc(stored.Onboard.Files, func(f ghpr.File) bool { return f.Path == workflowFile })
		if i < 0 {
			return nil
		}
		stored.Onboard.Workflow = stored.Onboard.Files[i].Content
		stored.Onboard.Files = slices.Delete(stored.Onboard.Files, i, i+1)
		stored.Intent, stored.Body, stored.Preview, stored.Fault = nil, "", "", ""
		return nil
	})
}

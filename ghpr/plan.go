package ghpr

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Call is one write that an intent would make.
type Call struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	What   string `json:"what"`
}

// Plan is what an intent would do: everything but the writes.
type Plan struct {
	Intent        string   `json:"intent"`
	Repo          string   `json:"repo"`
	Base          string   `json:"base"`
	Branch        string   `json:"branch"`
	Title         string   `json:"title"`
	Body          string   `json:"body"`
	CommitMessage string   `json:"commit_message"`
	Labels        []string `json:"labels"`
	Diff          string   `json:"diff"`
	Calls         []Call   `json:"calls"`             // in order; none if nothing is left to do
	Remote        []string `json:"remote"`            // what a look at the remote showed; empty if nobody looked
	Waiting       string   `json:"waiting,omitempty"` // why it would not be sent now
	Blocked       string   `json:"blocked,omitempty"` // why it would be left to a person
}

// PlanOf shows an intent without looking at the remote.
func PlanOf(in Intent) Plan {
	p := Plan{Intent: in.ID, Repo: in.Repo, Base: in.Base, Branch: in.Branch, Title: in.Title, Body: in.Body,
		CommitMessage: in.CommitMessage, Labels: append([]string{}, in.Labels...), Diff: in.Diff(), Remote: []string{}}
	root := "/repos/" + in.Repo
	p.Calls = []Call{
		{"POST", root + "/git/trees", filesWord(len(in.Files)) + " on top of the tree of " + baseWords(in.Base)},
		{"POST", root + "/git/commits", "one commit with the trailer " + Trailer + ": " + in.ID},
		{"POST", root + "/git/refs", "the branch " + in.Branch},
		{"POST", root + "/pulls", "the pull request to " + baseWords(in.Base)},
	}
	for _, l := range in.Labels {
		p.Calls = append(p.Calls, Call{"POST", root + "/issues/{number}/labels", "the label " + l})
	}
	return p
}

// Preview shows what Reconcile would do now. With a credential it reads the remote, with the same checks; it never writes.
func (r *Reconciler) Preview(ctx context.Context, now time.Time, in Intent) (Plan, error) {
	plan := PlanOf(in)
	if err := in.check(); err != nil {
		return plan, err
	}
	if r.gh == nil {
		return plan, nil
	}
	w := &run{Reconciler: r, in: in.clone(), stored: in, start: time.Now(), now0: now, absent: map[string]bool{}}
	err := w.lastLook(ctx)
	if err == nil {
		err = w.survey(ctx, &plan)
	}
	if w.in.Parked != nil {
		plan.Blocked = w.in.Parked.Reason
		plan.Remote = append(plan.Remote, w.in.Parked.Evidence...)
	}
	plan.Waiting = w.in.Waiting
	if w.in.Receipt.State == StateAbsorbed {
		plan.Calls, plan.Remote = []Call{}, append(plan.Remote, "the base holds all these files already")
	}
	if errors.Is(err, errSettled) {
		err = nil
	}
	return plan, err
}

// survey makes the reads of a run, in its order.
func (w *run) survey(ctx context.Context, plan *Plan) error {
	if err := w.preflight(ctx); err != nil {
		return err
	}
	if err := w.mayWrite(ctx); err != nil {
		return err
	}
	found, err := w.lookPull(ctx)
	if err != nil {
		return err
	}
	if found {
		plan.Calls = []Call{}
		plan.Remote = append(plan.Remote, fmt.Sprintf("the pull request is there: %s (%s)", w.in.Receipt.URL, w.in.Receipt.State))
		return nil
	}
	plan.Remote = append(plan.Remote, "no pull request for this branch")
	if found, err = w.lookRef(ctx); err != nil {
		return err
	}
	if found {
		plan.Calls = plan.Calls[3:]
		plan.Remote = append(plan.Remote, "the branch is there, with our commit "+w.in.Commit)
		return w.verifyBranch(ctx)
	}
	base, err := w.baseHead(ctx)
	if err != nil {
		return err
	}
	plan.Remote = append(plan.Remote, w.base()+" is at "+base)
	plan.Remote = append(plan.Remote, w.ruleNotes(ctx)...)
	if err := w.inspectBase(ctx, base); err != nil {
		return err
	}
	return w.checkLimits(ctx)
}

// branch is the branch that a base means: DefaultBase is asked for anew each time.
func (r *Reconciler) branch(ctx context.Context, repo, base string) (string, error) {
	if base != DefaultBase {
		return base, nil
	}
	there, err := r.gh.Repo(ctx, repo)
	return there.DefaultBranch, err
}

// Holds says whether a commit is another one, or comes after it. What GitHub does not know is an error, and so is to have no credential.
func (r *Reconciler) Holds(ctx context.Context, repo, commit, other string) (bool, error) {
	if r.gh == nil {
		return false, errors.New("ghpr: no credential to ask GitHub with")
	}
	c, err := r.gh.Compare(ctx, repo, other, commit)
	return err == nil && (c.Status == "ahead" || c.Status == "identical"), err
}

// Has says whether a path is there on a branch, or on DefaultBase. Without a credential it says no.
func (r *Reconciler) Has(ctx context.Context, repo, branch, path string) (bool, error) {
	if r.gh == nil {
		return false, nil
	}
	branch, err := r.branch(ctx, repo, branch)
	if err != nil {
		return false, err
	}
	_, err = r.gh.Entries(ctx, repo, path, branch)
	if isAbsent(err) {
		return false, nil
	}
	return err == nil, err
}

// File reads a file of at most a megabyte on a branch, or on DefaultBase; found is false where there is none, and without a credential.
func (r *Reconciler) File(ctx context.Context, repo, branch, path string) (text string, found bool, err error) {
	if r.gh == nil {
		return "", false, nil
	}
	if branch, err = r.branch(ctx, repo, branch); err != nil {
		return "", false, err
	}
	text, err = r.gh.Text(ctx, repo, path, branch)
	if isAbsent(err) {
		return "", false, nil
	}
	return text, err == nil, err
}

func filesWord(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

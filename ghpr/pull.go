package ghpr

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
)

// pullWrite is the opening of our pull request.
func (w *run) pullWrite() doubling {
	return doubling{
		name: w.pullName(), step: &w.in.Steps.PR, look: w.lookPull,
		prepare: func(ctx context.Context) error {
			if err := w.checkLimits(ctx); err != nil {
				return err
			}
			return w.branchIsOurs(ctx)
		},
		send: func(ctx context.Context) error {
			p, err := w.gh.CreatePull(ctx, w.in.FullName,
				github.NewPull{Head: w.in.Branch, Base: w.base(), Title: w.in.Title, Body: w.in.Body})
			w.number = p.Number
			return err
		},
		refused: func(ctx context.Context, e *github.Error) error {
			if e.Says("head invalid", "head sha can't be blank") && w.in.Steps.PR.Sends <= 2 {
				return nil // the branch was not visible to that call yet
			}
			if e.Says("no commits between") {
				return w.branchIsOurs(ctx)
			}
			return w.park("GitHub refuses the pull request", append([]string{e.Error()}, w.ruleNotes(ctx)...)...)
		},
	}
}

func (w *run) pullName() string { return "create pull request for " + w.in.Branch }

// branchIsOurs looks at the branch right before a pull request is opened from it: there, ours, and nothing on it but our additions.
func (w *run) branchIsOurs(ctx context.Context) error {
	found, err := w.poll(ctx, "the branch "+w.in.Branch, Confirmed, w.lookRef)
	switch {
	case err != nil:
		return err
	case !found:
		return w.park("the branch "+w.in.Branch+" was there and is gone: somebody deleted it before its pull request", "our commit "+w.in.Commit)
	}
	return w.verifyBranch(ctx)
}

// lookPull looks for the intent's pull request in the order that is surest: the number that an answer named, those from our branch in
// whatever state, those that hold our commit.
func (w *run) lookPull(ctx context.Context) (bool, error) {
	if w.number > 0 {
		p, err := w.gh.Pull(ctx, w.in.FullName, w.number)
		if err == nil && p.HeadRef == w.in.Branch {
			return w.choose(ctx, []github.Pull{p})
		}
		if err != nil && !isAbsent(err) {
			return false, err
		}
	}
	list, err := w.pullsByHead(ctx)
	if err != nil {
		return false, err
	}
	if len(list) == 0 && w.in.Commit != "" {
		if list, err = w.pullsByCommit(ctx); err != nil {
			return false, err
		}
	}
	return w.choose(ctx, list)
}

// pullsByHead checks the head on our side: GitHub ignores a filter that it does not like.
func (w *run) pullsByHead(ctx context.Context) ([]github.Pull, error) {
	list, err := w.gh.Pulls(ctx, w.in.FullName, github.PullQuery{State: "all", Head: w.in.Branch})
	if isUnknown(err) { // all states at once is too much for some repositories
		var closed []github.Pull
		if list, err = w.gh.Pulls(ctx, w.in.FullName, github.PullQuery{State: "open", Head: w.in.Branch}); err == nil {
			closed, err = w.gh.Pulls(ctx, w.in.FullName, github.PullQuery{State: "closed", Head: w.in.Branch})
			list = append(list, closed...)
		}
	}
	return slices.DeleteFunc(list, func(p github.Pull) bool { return p.HeadRef != w.in.Branch || p.HeadRepoID != w.repo.ID }), err
}

// pullsByCommit finds ours even if its branch was renamed.
func (w *run) pullsByCommit(ctx context.Context) ([]github.Pull, error) {
	list, err := w.gh.PullsOfCommit(ctx, w.in.FullName, w.in.Commit)
	if e, ok := errors.AsType[*github.Error](err); ok && (e.Kind == github.Absent || e.Kind == github.Refused) {
		return nil, nil // GitHub does not know the commit, so nothing holds it
	}
	return slices.DeleteFunc(list, func(p github.Pull) bool {
		m, _, ok := ParseMarker(p.Body)
		return p.HeadRepoID != w.repo.ID || p.Author != w.self || !ok || m.Intent != w.in.ID
	}), err
}

// choose takes the one pull request that is ours. Another's, or two, are a person's business.
func (w *run) choose(ctx context.Context, list []github.Pull) (bool, error) {
	var evidence []string
	for _, p := range list {
		why, err := w.notOurs(ctx, p)
		if err != nil {
			return false, err
		}
		if why != "" {
			evidence = append(evidence, fmt.Sprintf("%s: %s", p.URL, why))
		}
	}
	switch {
	case len(list) == 0:
		return false, nil
	case len(evidence) > 0:
		return false, w.park("a pull request from our branch is not ours", evidence...)
	case len(list) > 1:
		for _, p := range list {
			evidence = append(evidence, p.URL+" "+p.State)
		}
		return false, w.park("more than one pull request for this intent", evidence...)
	}
	w.receive(list[0])
	return true, nil
}

// notOurs says what is wrong with a pull request from our branch. A lost marker is no proof against us if the commit is ours.
func (w *run) notOurs(ctx context.Context, p github.Pull) (string, error) {
	switch m, _, ok := ParseMarker(p.Body); {
	case p.Author != w.self:
		return "opened by " + Inline(p.Author, 60), nil
	case p.BaseRef != w.base() && !(ok && m.Intent == w.in.ID):
		return "goes to " + Inline(p.BaseRef, 60), nil
	case ok && m.Intent == w.in.ID, p.HeadSHA == w.in.Commit && w.in.Commit != "": // people may send it elsewhere; a renamed base does
		return "", nil
	case ok:
		return "carries another intent, " + Inline(m.Intent, 60), nil
	}
	c, err := w.gh.Commit(ctx, w.in.FullName, p.HeadSHA)
	if err != nil {
		return "", err
	}
	if !w.in.ours(c.Message) {
		return "has neither our marker nor our commit", nil
	}
	return "", nil
}

// labelWord begins the labels by which people speak to us: pawl:stop, pawl:false-alarm.
const labelWord = "pawl:"

// receive notes what a pull request looks like now.
func (w *run) receive(p github.Pull) {
	r := &w.in.Receipt
	r.Number, r.URL, r.Head, r.Commit, r.ObservedAt = p.Number, p.URL, p.HeadSHA, w.in.Commit, w.now()
	r.ClosedBy, r.MergedBy, r.MergeSHA, r.Base, r.Labels = "", "", "", "", nil
	if p.BaseRef != w.base() {
		r.Base = p.BaseRef
	}
	for _, l := range sorted(p.Labels) {
		if strings.HasPrefix(strings.ToLower(l), labelWord) && !slices.Contains(w.in.Labels, l) {
			r.Labels = append(r.Labels, strings.ToLower(l))
		}
	}
	switch {
	case p.Merged:
		r.State, r.MergedBy, r.MergeSHA = StateMerged, p.MergedBy, p.MergeSHA
	case p.State == "closed":
		r.State = StateClosed
	default:
		r.State = StateOpen
	}
}

// observe reads the pull request by number: list answers may be stale, and a no must not be believed from one.
func (w *run) observe(ctx context.Context) error {
	was := w.in.Receipt
	p, err := w.readPull(ctx)
	if err != nil {
		return err
	}
	if p.Merged && was.State != StateMerged {
		if w.in.Receipt.Edited, err = w.edited(ctx, p); err != nil {
			return err
		}
	}
	if w.receive(p); w.in.Receipt.State != StateClosed {
		return nil
	}
	if w.in.Receipt.ClosedBy = was.ClosedBy; was.State != StateClosed || was.ClosedBy == "" {
		if by, err := w.gh.ClosedBy(ctx, w.in.FullName, p.Number); err == nil {
			w.in.Receipt.ClosedBy = by
		}
	}
	return nil
}

// edited names the paths that a merge has otherwise than we proposed them: what people made of them is the truth from then on.
func (w *run) edited(ctx context.Context, p github.Pull) (paths []string, err error) {
	at := p.MergeSHA
	if !github.IsSHA(at) {
		at = p.BaseRef
	}
	files := w.in.allFiles()
	if u := w.in.Update; u != nil && u.Ref.Outcome == Confirmed {
		files = append(files, u.Files...)
	}
	there, err := w.entries(ctx, at, files)
	for _, f := range files {
		if there[f.Path] != f.Blob {
			paths = append(paths, f.Path)
		}
	}
	return paths, err
}

// readPull reads our pull request by number, patiently: one that was just made may be absent for a while.
func (w *run) readPull(ctx context.Context) (p github.Pull, err error) {
	var absent error
	found, err := w.poll(ctx, fmt.Sprintf("pull request %d", w.in.Receipt.Number), Confirmed, func(ctx context.Context) (bool, error) {
		if p, err = w.gh.Pull(ctx, w.in.FullName, w.in.Receipt.Number); isAbsent(err) {
			absent = err
			return false, nil
		}
		return err == nil, err
	})
	if err == nil && !found {
		err = absent
	}
	return p, err
}

// Observe reads the pull request of an intent that has one and gives the intent with its new receipt: open, closed (a no) or merged. It
// writes nothing, in any mode but ModeOff. An intent without a pull request comes back as it is.
func (r *Reconciler) Observe(ctx context.Context, now time.Time, in Intent) (Intent, error) {
	if err := in.check(); err != nil {
		return in, err
	}
	if r.gh == nil || in.Steps.PR.Outcome != Confirmed {
		return in, nil
	}
	w := &run{Reconciler: r, in: in.clone(), stored: in, start: time.Now(), now0: now, absent: map[string]bool{}}
	repo, err := r.gh.RepoByID(ctx, in.RepoID)
	if err != nil {
		return in, err
	}
	w.repo, w.in.FullName = repo, repo.FullName
	if err := w.observe(ctx); err != nil {
		return in, err
	}
	return w.in, nil
}

const maxLabelTries = 3

// annotate adds the labels, once in the intent's life, so that it never fights a person who takes one off. Best effort: a label that
// cannot be had is noted and costs nothing else.
func (w *run) annotate(ctx context.Context) error {
	s := &w.in.Steps.Labels
	if s.Outcome == Confirmed || s.Outcome == Refused || w.in.Receipt.State != StateOpen {
		return nil
	}
	missing, err := w.missingLabels(ctx)
	if err != nil {
		return err
	}
	var notes []string
	again := false
	for _, label := range missing {
		err := w.label(ctx, label)
		e, _ := errors.AsType[*github.Error](err)
		switch {
		case err == nil:
		case ctx.Err() != nil, e == nil, e.Kind == github.Limited, e.Status == http.StatusUnauthorized:
			return err
		default:
			notes = append(notes, e.Error())
			again = again || e.Kind == github.Unknown || e.Kind == github.Moved || e.Kind == github.Absent || e.Says("could not resolve to a node")
		}
	}
	if missing, err = w.missingLabels(ctx); err != nil {
		return err
	}
	s.Sends++
	switch s.Note = strings.Join(notes, "; "); {
	case len(missing) == 0:
		return w.confirm(ctx, s)
	case again && s.Sends < maxLabelTries:
		s.Outcome = Planned
		return w.wait("labels: "+s.Note, w.now().Add(time.Minute))
	}
	s.Outcome = Refused
	return w.store(ctx)
}

func (w *run) missingLabels(ctx context.Context) ([]string, error) {
	if len(w.in.Labels) == 0 {
		return nil, nil
	}
	p, err := w.readPull(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(w.in.Labels), func(l string) bool {
		return slices.ContainsFunc(p.Labels, func(have string) bool { return strings.EqualFold(have, l) })
	}), nil
}

func (w *run) label(ctx context.Context, label string) error {
	err := w.gh.EnsureLabel(ctx, w.in.FullName, label)
	if e, ok := errors.AsType[*github.Error](err); ok && (e.Kind == github.Limited || e.Kind == github.Unknown) {
		return err
	}
	return w.gh.AddLabel(ctx, w.in.FullName, w.in.Receipt.Number, label) // where it may not be made it may exist all the same
}

package ghpr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
)

// StopLabel on a pull request freezes it: pawl looks at it and touches nothing.
const StopLabel = "pawl:stop"

// update carries out the intent's update: a commit on top of the branch, then the text.
func (w *run) update(ctx context.Context) error {
	u := w.in.Update
	if u == nil || u.Settled() {
		return nil
	}
	if err := w.mayWrite(ctx); err != nil {
		return err
	}
	if len(u.Files) > 0 && u.Ref.Outcome != Confirmed {
		if err := w.ensure(ctx, w.growWrite(u)); err != nil {
			return err
		}
	}
	if err := w.rewrite(ctx, u); err != nil {
		return err
	}
	u.State = UpdateDone
	w.lg.Info("ghpr updated", "intent", w.in.ID, "repo", w.in.Repo, "pull", w.in.Receipt.Number, "files", len(u.Files))
	return w.store(ctx)
}

// leave ends an update of which nothing is in the pull request.
func (w *run) leave(u *Update, why string) error {
	u.State, u.Why, u.Commit = UpdateLeft, why, ""
	w.in.Search, w.in.Waiting, w.in.NotBefore = nil, "", time.Time{}
	w.lg.Info("ghpr leaves a pull request as it is", "intent", w.in.ID, "repo", w.in.Repo, "pull", w.in.Receipt.Number, "why", why)
	return errSettled
}

// growWrite puts one commit on top of our branch, without force: GitHub refuses it if anybody pushed meanwhile.
func (w *run) growWrite(u *Update) doubling {
	return doubling{
		name: "update branch " + w.in.Branch, step: &u.Ref,
		look:    func(ctx context.Context) (bool, error) { return w.lookGrown(ctx, u) },
		prepare: func(ctx context.Context) error { return w.prepareGrowth(ctx, u) },
		send:    func(ctx context.Context) error { return w.gh.UpdateRef(ctx, w.in.FullName, w.in.Branch, u.Commit) },
		refused: func(ctx context.Context, e *github.Error) error {
			if u.Ref.Sends < maxSends && e.Says("fast forward", "fast-forward", "does not exist") {
				return nil // the branch moved: whose it is now is looked at before the next try
			}
			return w.leave(u, strings.Join(append([]string{"GitHub refuses the push: " + e.Error()}, w.ruleNotes(ctx)...), "; "))
		},
	}
}

// lookGrown finds the update's commit at the head of the branch, or anywhere in the pull request, whatever became of that meanwhile.
func (w *run) lookGrown(ctx context.Context, u *Update) (bool, error) {
	head, err := w.gh.Ref(ctx, w.in.FullName, w.in.Branch)
	if err != nil && !isAbsent(err) {
		return false, err
	}
	if err == nil {
		if head == u.Commit && head != "" {
			return true, nil
		}
		c, err := w.gh.Commit(ctx, w.in.FullName, head)
		if err != nil && !isAbsent(err) {
			return false, err
		}
		if err == nil && hasTrailer(c.Message, u.ID) {
			u.Commit = head
			return true, nil
		}
	}
	commits, err := w.gh.PullCommits(ctx, w.in.FullName, w.in.Receipt.Number)
	if err != nil && !isAbsent(err) {
		return false, err
	}
	for _, c := range commits {
		if hasTrailer(c.Message, u.ID) {
			u.Commit = c.SHA
			return true, nil
		}
	}
	return false, nil
}

// prepareGrowth makes sure that the pull request is ours alone, right before the push, and makes the commit.
func (w *run) prepareGrowth(ctx context.Context, u *Update) error {
	if err := w.alone(ctx, u); err != nil {
		return err
	}
	head, err := w.wholeBranch(ctx, u)
	if err != nil {
		return err
	}
	base, err := w.baseHead(ctx)
	if err != nil {
		return err
	}
	there, err := w.onBase(ctx, base, u.Files)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		return w.leave(u, "the base has some of its files already: "+strings.Join(there, ", "))
	}
	return w.buildGrowth(ctx, u, head)
}

// maxApart is how often the pull request is asked whether it has taken notice of its branch: GitHub may be late by many minutes.
const maxApart = 30

// alone leaves the pull request be once people have begun to act on it.
func (w *run) alone(ctx context.Context, u *Update) error {
	p, err := w.readPull(ctx)
	if err != nil {
		return err
	}
	w.receive(p)
	switch {
	case w.in.Receipt.State != StateOpen:
		return w.leave(u, "the pull request is "+string(w.in.Receipt.State))
	case slices.ContainsFunc(p.Labels, func(l string) bool { return strings.EqualFold(l, StopLabel) }):
		return w.leave(u, "it has the label "+StopLabel)
	case p.AutoMerge:
		return w.leave(u, "it is set to be merged by itself")
	case p.BaseRef != w.base():
		return w.leave(u, "it goes to another branch now")
	}
	who, err := w.gh.Reviews(ctx, w.in.FullName, p.Number)
	if err != nil {
		return err
	}
	if len(who) > 0 {
		return w.leave(u, "somebody reviews it")
	}
	switch queued, err := w.gh.Queued(ctx, w.in.FullName, p.Number); {
	case err != nil:
		return err
	case queued:
		return w.leave(u, "it is in the merge queue")
	}
	return nil
}

// wholeBranch gives the head of our branch, if every commit of the pull request is ours and they bring our files and nothing else.
func (w *run) wholeBranch(ctx context.Context, u *Update) (string, error) {
	head, err := w.gh.Ref(ctx, w.in.FullName, w.in.Branch)
	if isAbsent(err) {
		return "", w.leave(u, "its branch is gone")
	}
	if err != nil {
		return "", err
	}
	commits, err := w.gh.PullCommits(ctx, w.in.FullName, w.in.Receipt.Number)
	if err != nil {
		return "", err
	}
	for _, c := range commits {
		if !w.in.ours(c.Message) || len(c.Parents) != 1 {
			return "", w.leave(u, "somebody pushed to its branch")
		}
	}
	if len(commits) == 0 || commits[len(commits)-1].SHA != head {
		c, err := w.gh.Commit(ctx, w.in.FullName, head)
		if err != nil {
			return "", err
		}
		if !w.in.ours(c.Message) {
			return "", w.leave(u, "somebody pushed to its branch")
		}
		const apart = "the pull request and its branch do not agree"
		if w.in.Search == nil {
			w.in.Search = map[string]int{}
		}
		if w.in.Search[apart]++; w.in.Search[apart] > maxApart {
			return "", w.leave(u, apart)
		}
		return "", w.wait(apart+" yet", w.now().Add(30*time.Second))
	}
	cmp, err := w.gh.Compare(ctx, w.in.FullName, w.base(), head)
	if err != nil {
		return "", err
	}
	if bad := differs(cmp.Files, w.in.allFiles(), "added"); len(bad) > 0 {
		return "", w.leave(u, "its branch holds more or other than our files: "+strings.Join(bad[:min(len(bad), 5)], ", "))
	}
	return head, nil
}

// onBase names the files' paths that the base has already.
func (w *run) onBase(ctx context.Context, base string, files []FrozenFile) (there []string, err error) {
	have, err := w.entries(ctx, base, files)
	for _, f := range files {
		if _, ok := have[f.Path]; ok {
			there = append(there, f.Path)
		}
	}
	return there, err
}

// buildGrowth makes the commit on top of head and has it compared with head before anything points to it.
func (w *run) buildGrowth(ctx context.Context, u *Update, head string) error {
	if u.Commit != "" && u.Parent == head {
		if _, err := w.gh.Commit(ctx, w.in.FullName, u.Commit); !isAbsent(err) {
			return err
		}
	}
	commit, err := w.makeCommit(ctx, head, u.Files, u.CommitMessage)
	if err != nil {
		return err
	}
	cmp, err := w.gh.Compare(ctx, w.in.FullName, head, commit)
	if err != nil {
		return err
	}
	if bad := differs(cmp.Files, u.Files, "added"); len(bad) > 0 || cmp.AheadBy != 1 || cmp.BehindBy != 0 {
		return w.park("the commit for the pull request does not hold our additions and nothing else", append([]string{"commit " + commit}, bad...)...)
	}
	u.Commit, u.Parent = commit, head
	return nil
}

const maxTextTries = 3

// rewrite replaces our part of the body, and the title if it is as we wrote it. It may be sent twice without harm. Where people edited our part it stays
// as they left it.
func (w *run) rewrite(ctx context.Context, u *Update) error {
	for try := 0; ; try++ {
		p, err := w.readPull(ctx)
		if err != nil {
			return err
		}
		w.receive(p)
		title, body, why := w.rewritten(p, u)
		switch {
		case why != "":
			u.Text = Step{Outcome: Refused, Sends: u.Text.Sends, Note: why}
			return nil
		case title == p.Title && body == p.Body:
			u.Text = Step{Outcome: Confirmed, Sends: u.Text.Sends}
			return nil
		case try == maxTextTries:
			return w.wait("the text of the pull request does not change", w.now().Add(time.Minute))
		case try > 0:
			if err := github.Sleep(ctx, patience[try-1]); err != nil {
				return err
			}
		}
		u.Text.Sends++
		err = w.gh.EditPull(ctx, w.in.FullName, p.Number, func(now github.Pull) (string, string, bool) {
			w.receive(now)
			title, body, why := w.rewritten(now, u)
			return title, body, why == ""
		})
		e, _ := errors.AsType[*github.Error](err)
		switch {
		case err == nil || e != nil && e.Kind == github.Unknown && ctx.Err() == nil:
		case e != nil && (e.Kind == github.Refused || e.Kind == github.Invalid && ctx.Err() == nil): // GitHub's no, or our own last look's
			u.Text.Outcome, u.Text.Note = Refused, e.Error()
			return nil
		default:
			return err
		}
	}
}

// rewritten is the pull request's title and body as they should be, or why they are left as they are.
func (w *run) rewritten(p github.Pull, u *Update) (title, body, why string) {
	m, part, ok := ParseMarker(p.Body)
	switch {
	case w.in.Receipt.State != StateOpen:
		return "", "", "the pull request is " + string(w.in.Receipt.State)
	case slices.ContainsFunc(p.Labels, func(l string) bool { return strings.EqualFold(l, StopLabel) }):
		return "", "", "it has the label " + StopLabel
	case !ok || m.Intent != w.in.ID:
		return "", "", "somebody took our part out of the text"
	case hashText(part) == u.BodyHash && m.Hash == u.BodyHash:
		body = p.Body
	case hashText(part) != m.Hash:
		return "", "", "somebody edited our part of the text"
	default:
		if body, ok = replaceBlock(p.Body, RenderMarker(m, part), u.Body); !ok {
			return "", "", "somebody edited our part of the text"
		}
	}
	if title = p.Title; title == w.in.title() {
		title = u.Title
	}
	return title, body, ""
}

// replaceBlock puts a new block in place of the old and keeps what stands around it.
func replaceBlock(text, old, block string) (string, bool) {
	for _, t := range []string{text, strings.ReplaceAll(text, "\r\n", "\n")} {
		if before, after, found := strings.Cut(t, old); found {
			return before + block + after, len(before)+len(block)+len(after) <= 65_000
		}
	}
	return "", false
}

// differs names what a comparison shows beyond, or short of, the files with that status.
func differs(have []github.Change, want []FrozenFile, status string) (bad []string) {
	left := map[string]string{}
	for _, f := range want {
		left[f.Path] = f.Blob
	}
	for _, c := range have {
		if blob, ours := left[c.Path]; !ours || c.Status != status || c.Blob != blob {
			bad = append(bad, fmt.Sprintf("%s %s %s", c.Status, c.Path, c.Blob))
		}
		delete(left, c.Path)
	}
	for p := range left {
		bad = append(bad, "missing "+p)
	}
	slices.Sort(bad)
	return bad
}

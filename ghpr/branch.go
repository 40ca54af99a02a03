package ghpr

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/ghpr/github"
)

// refWrite is the making of our branch, with one commit on it.
func (w *run) refWrite() doubling {
	return doubling{
		name: "create branch " + w.in.Branch, step: &w.in.Steps.Ref, look: w.lookRef,
		prepare: func(ctx context.Context) error {
			if err := w.checkLimits(ctx); err != nil {
				return err
			}
			return w.buildCommit(ctx)
		},
		send: func(ctx context.Context) error { return w.gh.CreateRef(ctx, w.in.FullName, w.in.Branch, w.in.Commit) },
		refused: func(ctx context.Context, e *github.Error) error {
			return w.park("GitHub refuses the branch "+w.in.Branch, append([]string{e.Error()}, w.ruleNotes(ctx)...)...)
		},
	}
}

// lookRef reads the branch. Whatever stands there and is not ours parks the intent.
func (w *run) lookRef(ctx context.Context) (bool, error) {
	head, err := w.gh.Ref(ctx, w.in.FullName, w.in.Branch)
	switch {
	case isAbsent(err):
		return false, nil
	case isEmpty(err):
		return false, w.park("the repository is empty: make a first commit on "+w.base(), err.Error())
	case err != nil:
		return false, err
	}
	return true, w.ownHead(ctx, head)
}

// ownHead accepts a head that is our commit, or one that carries our trailer: another run of the same intent made it. That it brings
// our files and nothing else is verifyBranch's proof, so its parent need not be the one we pinned.
func (w *run) ownHead(ctx context.Context, head string) error {
	if head != w.in.Commit {
		c, err := w.gh.Commit(ctx, w.in.FullName, head)
		if err != nil {
			return err
		}
		if !hasTrailer(c.Message, w.in.ID) || len(c.Parents) != 1 {
			return w.park("the branch "+w.in.Branch+" holds somebody else's commit",
				"head "+head, "our commit "+orNone(w.in.Commit), "wanted the trailer "+Trailer+": "+w.in.ID)
		}
		w.in.Commit, w.in.BaseSHA = head, c.Parents[0]
	}
	w.in.Receipt.Commit, w.in.Receipt.Head, w.in.Receipt.ObservedAt = w.in.Commit, head, w.now()
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// buildCommit makes tree and commit on the base as it is now. Nothing points to them yet, so both may be made again at will.
func (w *run) buildCommit(ctx context.Context) error {
	base, err := w.baseHead(ctx)
	if err != nil {
		return err
	}
	if err := w.inspectBase(ctx, base); err != nil {
		return err
	}
	if w.in.Commit != "" {
		if _, err := w.gh.Commit(ctx, w.in.FullName, w.in.Commit); !isAbsent(err) {
			return err
		}
	}
	commit, err := w.makeCommit(ctx, base, w.in.Files, w.in.CommitMessage)
	if err == nil {
		w.in.Commit, w.in.BaseSHA = commit, base
	}
	return err
}

// makeCommit makes a commit with the files on top of another.
func (w *run) makeCommit(ctx context.Context, on string, frozen []FrozenFile, message string) (sha string, err error) {
	parent, err := w.gh.Commit(ctx, w.in.FullName, on)
	if err != nil {
		return "", err
	}
	files, err := w.contents(ctx, frozen)
	if err != nil {
		return "", err
	}
	var made github.Commit
	err = w.again(ctx, func(ctx context.Context) error {
		tree, err := w.gh.CreateTree(ctx, w.in.FullName, parent.Tree, files)
		if err != nil {
			return err
		}
		if tree == parent.Tree {
			return w.park("the tree with our files equals the one before: GitHub took none of them", "tree "+tree)
		}
		made, err = w.gh.CreateCommit(ctx, w.in.FullName, github.Commit{Tree: tree, Parents: []string{on}, Message: message})
		return err
	})
	if err == nil && w.in.SignOff != "" && made.Author != w.in.SignOff {
		return "", w.park("the commit's author and the sign-off differ, which a DCO check refuses", "author "+made.Author, "sign-off "+w.in.SignOff,
			"write the author as ghpr.sign_off and press look again")
	}
	return made.SHA, err
}

// again repeats harmless writes: content-named, or pointed to by nothing.
func (w *run) again(ctx context.Context, fn func(context.Context) error) error {
	for i := 0; ; i++ {
		err := fn(ctx)
		e, _ := errors.AsType[*github.Error](err)
		if e == nil || i == 3 || !(e.Kind == github.Unknown || e.Kind == github.Refused && e.Says("tree sha does not exist")) {
			return err
		}
		if err := github.Sleep(ctx, patience[i]); err != nil {
			return err
		}
	}
}

func (w *run) baseHead(ctx context.Context) (string, error) {
	base, err := w.gh.Ref(ctx, w.in.FullName, w.base())
	if isAbsent(err) {
		return "", w.park("the base branch "+w.base()+" does not exist", err.Error(),
			"the default branch is "+orNone(w.repo.DefaultBranch)+": if it was renamed, name it as base in targets, or write base: default")
	}
	return base, err
}

// isEmpty: without a first commit there is no base, and the Git Data API refuses everything.
func isEmpty(err error) bool {
	e, ok := errors.AsType[*github.Error](err)
	return ok && e.Kind == github.Refused && e.Says("repository is empty")
}

// inspectBase makes sure that the base has none of our paths, or for a tightening all of them. With our content already: nothing to do. Any other
// way: a person.
func (w *run) inspectBase(ctx context.Context, base string) error {
	there, err := w.entries(ctx, base, w.in.Files)
	if err != nil {
		return err
	}
	for _, f := range w.in.Files {
		if _, ok := there[path.Dir(f.Path)]; ok {
			return w.park("a file stands where a directory is needed", path.Dir(f.Path))
		}
	}
	var same, other, missing []string
	for _, f := range w.in.Files {
		switch blob, ok := there[f.Path]; {
		case ok && blob == f.Blob:
			same = append(same, "same: "+f.Path)
		case ok:
			other = append(other, "differs: "+f.Path+" has "+blob+", ours "+f.Blob)
		default:
			missing = append(missing, "missing: "+f.Path)
		}
	}
	switch {
	case len(same) == len(w.in.Files):
		w.in.Receipt.State, w.in.Receipt.ObservedAt = StateAbsorbed, w.now()
		return errSettled
	case w.in.kind() == KindTighten && len(missing)+len(same) > 0:
		return w.park("the base lacks some of the files that were to be replaced, or has them already", append(missing, same...)...)
	case w.in.kind() == KindTighten:
		return w.tighter(ctx, base)
	case len(same)+len(other) > 0:
		return w.park("the base has some of these paths already; only additions are made", append(other, same...)...)
	}
	return nil
}

// entries gives what stands at a commit in the directories of the files: ids by path. A directory that is a file there is in it itself.
func (w *run) entries(ctx context.Context, at string, files []FrozenFile) (map[string]string, error) {
	there := map[string]string{}
	for _, dir := range parents(files) {
		entries, err := w.gh.Entries(ctx, w.in.FullName, dir, at)
		if err != nil && !isAbsent(err) {
			return nil, err
		}
		for _, e := range entries {
			there[e.Path] = e.SHA
		}
	}
	return there, nil
}

// tighter has the files judged against what the base holds.
func (w *run) tighter(ctx context.Context, base string) error {
	if w.judge == nil {
		return w.park("nothing here can tell whether the change loosens a file", "files "+w.in.Files[0].Path+" ...")
	}
	head, err := w.contents(ctx, w.in.Files)
	if err != nil {
		return err
	}
	var before, after []File
	for _, f := range head {
		text, err := w.gh.Text(ctx, w.in.FullName, f.Path, base)
		if err != nil {
			return err
		}
		before, after = append(before, File{Path: f.Path, Content: text}), append(after, File{Path: f.Path, Content: f.Content})
	}
	if err := w.judge(before, after); err != nil {
		return w.park("the change would loosen what the base holds", err.Error())
	}
	return nil
}

func parents(files []FrozenFile) []string {
	var dirs []string
	for _, f := range files {
		if dir := path.Dir(f.Path); dir != "." {
			dirs = append(dirs, dir)
		} else {
			dirs = append(dirs, f.Path) // in the root: the file by itself
		}
	}
	return sorted(dirs)
}

// contents gives the files with their text, checked against the blob ids.
func (w *run) contents(ctx context.Context, files []FrozenFile) ([]github.File, error) {
	out := make([]github.File, len(files))
	for i, f := range files {
		text := f.Content
		if text == "" && w.content != nil {
			var err error
			if text, err = w.content(ctx, f.Blob); err != nil {
				return nil, fmt.Errorf("ghpr: intent %s: content of %s: %w", w.in.ID, f.Path, err)
			}
		}
		if BlobID(text) != f.Blob {
			return nil, w.park("the content of a file is lost or changed", f.Path, "wanted blob "+f.Blob+", got "+BlobID(text))
		}
		out[i] = github.File{Path: f.Path, Content: text}
	}
	return out, nil
}

// verifyBranch is the last lock before the pull request: on top of the base our branch brings exactly our files, each added, each with
// our blob id.
func (w *run) verifyBranch(ctx context.Context) error {
	cmp, err := w.gh.Compare(ctx, w.in.FullName, w.base(), w.in.Commit)
	if err != nil {
		return err
	}
	if cmp.AheadBy == 0 {
		w.in.Receipt.State, w.in.Receipt.ObservedAt = StateAbsorbed, w.now() // somebody merged the branch by hand
		return errSettled
	}
	var bad []string
	if cmp.AheadBy != 1 {
		bad = append(bad, fmt.Sprintf("%d commits, want 1", cmp.AheadBy))
	}
	status := "added"
	if w.in.kind() == KindTighten {
		status = "modified"
	}
	if bad = append(bad, differs(cmp.Files, w.in.Files, status)...); len(bad) == 0 {
		return nil
	}
	return w.park("the branch does not hold our additions and nothing else", bad[:min(len(bad), 50)]...)
}

// ruleNotes tells which rules guard our branch: they explain refusals. Best effort.
func (w *run) ruleNotes(ctx context.Context) []string {
	kinds, err := w.gh.Rules(ctx, w.in.FullName, w.in.Branch)
	if err != nil || len(kinds) == 0 {
		return nil
	}
	return []string{"rules on this branch: " + strings.Join(sorted(kinds), ", ") + ": an admin may exempt " + w.in.Prefix + "** for " + w.self}
}

// checkLimits counts our pull requests on the remote. A full limit is a state, not an error.
func (w *run) checkLimits(ctx context.Context) error {
	if w.room {
		return nil
	}
	now := w.now()
	open, err := w.gh.Pulls(ctx, w.in.FullName, github.PullQuery{State: "open", Pages: 50})
	if err != nil {
		return err
	}
	open = slices.DeleteFunc(open, func(p github.Pull) bool { return !w.byUs(p) })
	if n := len(open); n >= w.limits.Open {
		return w.sleep(fmt.Sprintf("%d of %d open", n, w.limits.Open), now.Add(5*time.Minute))
	}
	closed, err := w.gh.Pulls(ctx, w.in.FullName, github.PullQuery{State: "closed", Since: now.Add(-24 * time.Hour)})
	if err != nil {
		return err
	}
	var made []time.Time
	for _, p := range append(open, closed...) {
		if w.byUs(p) {
			made = append(made, p.CreatedAt)
		}
	}
	for _, l := range []struct {
		span time.Duration
		max  int
		name string
	}{{time.Hour, w.limits.PerHour, "this hour"}, {24 * time.Hour, w.limits.PerDay, "today"}} {
		if n, free := within(made, now, l.span, l.max); n >= l.max {
			return w.wait(fmt.Sprintf("%d of %d new %s", n, l.max, l.name), free)
		}
	}
	w.room = true
	return nil
}

// within counts the times in the span before now, and says when fewer than max will be left.
func within(times []time.Time, now time.Time, span time.Duration, max int) (n int, free time.Time) {
	recent := slices.DeleteFunc(slices.Clone(times), func(t time.Time) bool { return !t.After(now.Add(-span)) })
	slices.SortFunc(recent, func(a, b time.Time) int { return b.Compare(a) })
	if len(recent) < max || max <= 0 {
		return len(recent), now.Add(span)
	}
	return len(recent), recent[max-1].Add(span)
}

// byUs: only what we authored, from our prefix, in this very repository.
func (w *run) byUs(p github.Pull) bool {
	return p.Author == w.self && p.HeadRepoID == w.repo.ID && strings.HasPrefix(p.HeadRef, w.in.Prefix)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ratchet/click"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// openPull opens one pull request of the changed cases, or shows it where ghpr.mode is not open. ghpr holds them against what the base branch holds
// when the commit is made, and gives up if any is looser.
func (c *clicking) openPull(ctx context.Context, changed []clicked) error {
	cfg, err := c.loadConfig()
	if err != nil {
		return err
	}
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return usageError(err, "")
	}
	dir, err := inRepo(repo, c.set)
	if err != nil {
		return usageError(err, "")
	}
	target, err := targetOfSet(cfg, dir)
	if err != nil {
		return err
	}
	in, err := tightening(cfg, target, dir, changed)
	if err != nil {
		return err
	}
	o, err := ghprOptions(cfg)
	if err != nil {
		return usageError(err, "")
	}
	o.Tighter = func(base, head []ghpr.File) error { return tighter(base, head, c.now()) }
	r, err := ghpr.New(c.log, o)
	if err != nil {
		return usageError(err, "ghpr in pawl.yaml")
	}
	if ghpr.Mode(cfg.GHPR.Mode) != ghpr.ModeOpen || !cfg.Enabled {
		return c.showPlan(ctx, r, in)
	}
	return c.drive(ctx, r, in)
}

var errNoTarget = errors.New("no target of pawl.yaml leads to this set")

// targetOfSet is the one repository and branch that a set lies in.
func targetOfSet(cfg config.Config, dir string) (config.Target, error) {
	var found []config.Target
	for _, t := range cfg.Targets {
		same := func(o config.Target) bool { return strings.EqualFold(o.Repo, t.Repo) && o.Base == t.Base }
		if path.Clean(t.Set) == dir && !slices.ContainsFunc(found, same) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return config.Target{}, usageError(fmt.Errorf("%w: %s", errNoTarget, dir), "targets: [{service: \"*\", repo: OWNER/NAME, base: main, set: "+dir+"}]")
	}
	return config.Target{}, usageError(fmt.Errorf("the targets of %s are in %d repositories or branches", dir, len(found)), "-c with a pawl.yaml that names this one alone")
}

// tightening freezes the pull request.
func tightening(cfg config.Config, t config.Target, dir string, changed []clicked) (ghpr.Intent, error) {
	title, lines := turnedIn(changed)
	var files []ghpr.File
	var ids []string
	for _, o := range changed {
		b, err := regcase.Encode(o.to)
		if err != nil {
			return ghpr.Intent{}, err
		}
		files = append(files, ghpr.File{Path: path.Join(dir, o.entry.Dir, regcase.CaseFile), Content: string(b)})
		ids = append(ids, o.Case)
	}
	table := "| Case | |\n|---|---|\n"
	for _, line := range lines {
		id, what, _ := strings.Cut(line, ": ")
		table += "| " + ghpr.Inline(id, 120) + " | " + ghpr.Inline(what, 200) + " |\n"
	}
	in, err := ghpr.Freeze(ghpr.Change{Repo: t.Repo, Base: t.Base, Kind: ghpr.KindTighten, Dir: dir, Key: "tighten " + dir, Slug: "tighten", SignOff: cfg.GHPR.SignOff,
		Title: title, Files: files, Identities: ids,
		Body: []ghpr.Block{{Text: "These failures were seen on the live agent, and runs of the default branch no longer show them."}, {Text: table},
			{Text: "**Merging** lets the cases block from then on. No case becomes looser: each was held against the base branch, field by field."}}})
	if err != nil {
		return in, fmt.Errorf("the pull request: %w", err)
	}
	return in, nil
}

// tighter holds every file to the one of base.
func tighter(base, head []ghpr.File, now time.Time) error {
	if len(base) != len(head) {
		return errors.New("the base lacks files")
	}
	for i, h := range head {
		if path.Base(h.Path) != regcase.CaseFile || base[i].Path != h.Path {
			return fmt.Errorf("%s is no case", h.Path)
		}
		was, err := regcase.Decode([]byte(base[i].Content))
		if err != nil {
			return fmt.Errorf("%s on the base: %w", h.Path, err)
		}
		is, err := regcase.Decode([]byte(h.Content))
		if err != nil {
			return fmt.Errorf("%s: %w", h.Path, err)
		}
		if looser := click.Looser(&was, &is, now); len(looser) > 0 {
			return fmt.Errorf("%s: %s", h.Path, strings.Join(looser, "; "))
		}
	}
	return nil
}

func (c *clicking) showPlan(ctx context.Context, r *ghpr.Reconciler, in ghpr.Intent) error {
	plan, err := r.Preview(ctx, time.Now(), in)
	if err != nil {
		return fmt.Errorf("a look at %s: %w", in.Repo, err)
	}
	if c.json {
		return c.printJSON(plan)
	}
	fmt.Fprintf(c.stdout, "would open a pull request to %s of %s: %s\n%s", plan.Base, plan.Repo, plan.Title, plan.Diff)
	for _, line := range slices.Concat(plan.Remote, []string{plan.Waiting, plan.Blocked}) {
		if line != "" {
			fmt.Fprintln(c.stdout, shown(line))
		}
	}
	_, err = fmt.Fprintln(c.stdout, "next: ghpr.mode: open in pawl.yaml does it; or pawl click --commit, and push that")
	return err
}

// drive makes the pull request. The intent is kept in git's own directory, so that one that was cut short goes on where it was.
func (c *clicking) drive(ctx context.Context, r *ghpr.Reconciler, in ghpr.Intent) error {
	file, err := intentFile(ctx, in)
	if err != nil {
		return err
	}
	if in, err = keptIntent(file, in); err != nil {
		return err
	}
	save := func(_ context.Context, in ghpr.Intent) error { return keepIntent(file, in) }
	for {
		in, err = r.Reconcile(ctx, time.Now(), in, save)
		if err != nil {
			return fmt.Errorf("the pull request to %s: %w", in.Repo, err)
		}
		pause := time.Until(in.NotBefore)
		if in.Parked != nil || in.Receipt.State != "" || pause <= 0 || pause > time.Minute {
			break
		}
		fmt.Fprintln(c.stderr, shown(in.Waiting))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
	return c.opened(in)
}

// opened tells what became of the pull request.
func (c *clicking) opened(in ghpr.Intent) error {
	if c.json {
		if err := c.printJSON(struct {
			Kind    string       `json:"kind"`
			Repo    string       `json:"repo"`
			Branch  string       `json:"branch"`
			Receipt ghpr.Receipt `json:"receipt"`
			Waiting string       `json:"waiting"`
			Parked  *ghpr.Parked `json:"parked"`
		}{"pull", in.Repo, in.Branch, in.Receipt, in.Waiting, in.Parked}); err != nil {
			return err
		}
	}
	switch {
	case in.Parked != nil:
		return undecided("look at it, then click again", "the pull request waits for a person: %s: %s", in.Parked.Reason, shown(strings.Join(in.Parked.Evidence, "; ")))
	case in.Receipt.State == "":
		return undecided("click again later", "there is no pull request yet: %s", in.Waiting)
	case in.Receipt.State == ghpr.StateClosed:
		return undecided("pawl click --commit", "this very change was proposed in %s and closed: that is a no", in.Receipt.URL)
	case c.json:
		return nil
	case in.Receipt.State == ghpr.StateAbsorbed:
		_, err := fmt.Fprintln(c.stdout, "the base branch holds these cases already")
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "%s: %s\n", in.Receipt.State, in.Receipt.URL)
	return err
}

// intentFile is where the intent is kept: in the repository's git directory, which no commit holds.
func intentFile(ctx context.Context, in ghpr.Intent) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--git-path", "pawl/"+in.ID+".json").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	file := strings.TrimSpace(string(out))
	return file, os.MkdirAll(filepath.Dir(file), 0o755)
}

// keptIntent is the intent as it was last kept, else the new one.
func keptIntent(file string, in ghpr.Intent) (ghpr.Intent, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err != nil {
		return in, err
	}
	var kept ghpr.Intent
	if err := json.Unmarshal(b, &kept); err != nil || kept.Seal != in.Seal {
		return in, undecided("remove "+file+" once you have looked at the pull requests of "+in.Repo, "%s holds what is known of this pull request and cannot be read", file)
	}
	return kept, nil
}

// keepIntent writes beside and renames, synced: what is sent is known before it leaves.
func keepIntent(file string, in ghpr.Intent) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "intent-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

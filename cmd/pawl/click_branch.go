package main

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// onDefaultBranch takes from runs what they say of themselves and git knows better: those of a commit that the default branch does not hold are not of it.
// Who can write the results can still say what he likes of the commits that it does hold.
func (c *clicking) onDefaultBranch(ctx context.Context, runs []gate.Run) {
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return // nothing is known: outside of a repository a click is a person's look at numbers
	}
	tip, name := c.defaultBranch(ctx, repo)
	if tip == "" {
		return
	}
	holds, away := map[string]bool{}, map[string]bool{}
	for i := range runs {
		r := &runs[i]
		if !r.DefaultBranch || r.Commit == "" || r.Verdict != gate.Pass { // what fails is believed
			continue
		}
		if _, known := holds[r.Commit]; !known {
			holds[r.Commit] = repo.Contains(ctx, tip, r.Commit)
		}
		if !holds[r.Commit] {
			r.DefaultBranch = false
			away[r.Commit] = true
		}
	}
	if len(away) > 0 {
		fmt.Fprintf(c.stderr, "%s say that they are of the default branch, and %s does not hold them: they are not green. Push them, or fetch: a clone that is shallow or old lacks some\n",
			plural(len(away), "commit"), name)
	}
}

// defaultBranch is the tip of the default branch as the clone knows it: what origin says it is, else the base of the set's target, at origin. It is ""
// where there is no origin.
func (c *clicking) defaultBranch(ctx context.Context, repo *gitfs.Repo) (commit, name string) {
	names := []string{"refs/remotes/origin/HEAD"}
	if cfg, err := c.loadConfig(); err == nil {
		if dir, err := inRepo(repo, c.set); err == nil {
			if t, err := targetOfSet(cfg, dir); err == nil {
				names = append(names, "refs/remotes/origin/"+t.Base)
			}
		}
	}
	for _, name := range names {
		if id, err := repo.Commit(ctx, name); err == nil {
			return id, name
		}
	}
	return "", ""
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pawl-dev/pawl/ratchet/gate"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// undo removes what was made for a check, if anything was.
type undo struct {
	of string
	do func() error
}

func (u *undo) remove(stderr io.Writer) {
	if u.do == nil {
		return
	}
	if err := u.do(); err != nil {
		printError(stderr, fmt.Sprintf("the checkout of %s could not be removed: %v", u.of, err))
	}
}

// against has a plan compare with the version at --base, in a checkout, or with the one that answers at --base-url.
func (c *checking) against(ctx context.Context, plan *gate.Plan, checkout *undo) error {
	if c.base == "" && c.baseURL == "" {
		return nil
	}
	commit := ""
	if c.base != "" {
		var err error
		if commit, err = gate.CommitOf(ctx, ".", c.base); err != nil {
			return usageError(err, "a branch, tag or commit that this clone has")
		}
		if err := c.changed(ctx, commit); err != nil {
			return err
		}
	}
	plan.Base = func(ctx context.Context) (gate.Version, error) {
		if c.baseURL != "" {
			fmt.Fprintf(c.stderr, "Some cases miss: they are compared with the version at %s.\n", shown(c.baseURL))
			return gate.Version{Agent: gate.Agent{URL: c.baseURL}, Stamp: c.stampBase(commit)}, nil
		}
		fmt.Fprintf(c.stderr, "Some cases miss: the version at %s is prepared to compare with.\n", c.base)
		at, remove, err := gate.Worktree(ctx, ".", commit, c.setup)
		if err != nil {
			return gate.Version{}, err
		}
		*checkout = undo{c.base, remove}
		return gate.Version{Agent: gate.Agent{Command: c.command, Dir: at, Talks: c.talks}, Stamp: c.stampBase(commit)}, nil
	}
	return nil
}

// stampBase is of no digest where nobody says which commit runs there: its runs are not taken over.
func (c *checking) stampBase(commit string) gate.Stamp {
	if commit == "" {
		return gate.Stamp{}
	}
	return gate.Stamp{Commit: commit, Digest: regcase.SHA256([]byte(commit + "\x00" + c.command + "\x00" + c.setup))[:16]}
}

// changed marks the cases that base does not hold as they are. Both versions of the agent run the cases of this one: that base misses what it never had
// to pass excuses nobody.
func (c *checking) changed(ctx context.Context, commit string) error {
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return usageError(err, "")
	}
	dir, err := inRepo(repo, c.set)
	if err != nil {
		return usageError(err, "--set with a directory of this repository, or no --base")
	}
	tree, err := repo.Tree(ctx, commit)
	if err != nil {
		return undecided("", "--base: %w", err)
	}
	defer tree.Close()
	was := verify.ReadSet(tree, dir).Digests()
	for _, k := range c.cases {
		k.Changed = was[k.ID] != k.Sum
	}
	return nil
}

package main

import (
	"context"

	"github.com/pawl-dev/pawl/ratchet/verify"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

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

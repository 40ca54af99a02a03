package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// StampOf reads what git knows of a directory. Outside of a repository it is empty. Changes of the files in ours (results, reports) change no agent.
func StampOf(ctx context.Context, dir string, ours ...string) Stamp {
	var s Stamp
	commit, err := git(ctx, dir, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return s
	}
	s.Commit = commit
	s.Dirty = dirty(ctx, dir, ours)
	s.Branch, _ = git(ctx, dir, "symbolic-ref", "--quiet", "--short", "HEAD") // none when detached, as in CI
	main, _ := git(ctx, dir, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
	main = strings.TrimPrefix(main, "origin/")
	if s.Branch == "" && os.Getenv("GITHUB_EVENT_NAME") != "pull_request" {
		s.Branch = os.Getenv("GITHUB_REF_NAME")
	}
	s.DefaultBranch = s.Branch != "" && (s.Branch == main || main == "" && (s.Branch == "main" || s.Branch == "master"))
	return s
}

// dirty says that the work tree differs from the commit, files that are not known to git included. What cannot be told counts as different.
func dirty(ctx context.Context, dir string, ours []string) bool {
	top, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return true
	}
	args := []string{"status", "--porcelain", "--untracked-files=all", "--", top}
	for _, f := range ours {
		if abs, err := filepath.Abs(f); err == nil && f != "" {
			args = append(args, ":(exclude,literal)"+abs)
		}
	}
	status, err := git(ctx, dir, args...)
	return err != nil || status != ""
}

// CommitOf is the commit that a reference names in the repository of dir.
func CommitOf(ctx context.Context, dir, ref string) (string, error) {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("base %s: %w (in CI fetch it first: git fetch origin %s, or fetch-depth: 0)", ref, err, strings.TrimPrefix(ref, "origin/"))
	}
	return commit, nil
}

// ChangedFiles are the files below dir, by paths from there, that differ from where the work tree left the reference's history: committed, changed,
// and new ones.
func ChangedFiles(ctx context.Context, dir, ref string) ([]string, error) {
	commit, err := CommitOf(ctx, dir, ref)
	if err != nil {
		return nil, err
	}
	from, err := git(ctx, dir, "merge-base", commit, "HEAD")
	if err != nil {
		return nil, fmt.Errorf("%s and HEAD have no common commit here: %w (in CI: fetch-depth: 0)", ref, err)
	}
	changed, err := git(ctx, dir, "diff", "--name-only", "--no-renames", "--relative", "-z", from, "--")
	if err != nil {
		return nil, err
	}
	fresh, err := git(ctx, dir, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	return paths(changed + "\x00" + fresh), nil
}

// Files are all files below dir that git knows, by paths from there.
func Files(ctx context.Context, dir string) ([]string, error) {
	all, err := git(ctx, dir, "ls-files", "-z")
	return paths(all), err
}

func paths(list string) []string {
	out := strings.FieldsFunc(list, func(r rune) bool { return r == 0 })
	slices.Sort(out)
	return slices.Compact(out)
}

// Worktree checks a commit out beside the work tree of dir, runs setup there, and returns the directory that corresponds to dir and what removes the
// checkout again. Remove it also when the context has ended.
func Worktree(ctx context.Context, dir, commit, setup string) (at string, remove func() error, err error) {
	prefix, err := git(ctx, dir, "rev-parse", "--show-prefix")
	if err != nil {
		return "", nil, err
	}
	parent, err := os.MkdirTemp("", "pawl-base-")
	if err != nil {
		return "", nil, err
	}
	tree := filepath.Join(parent, "tree")
	remove = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, failed := git(ctx, dir, "worktree", "remove", "--force", "--force", tree)
		if gone := os.RemoveAll(parent); gone != nil {
			return errors.Join(failed, gone)
		}
		_, err := git(ctx, dir, "worktree", "prune") // of what could not be removed in good order
		return err
	}
	if _, err = git(ctx, dir, "worktree", "add", "--quiet", "--detach", "--force", tree, commit); err != nil {
		return "", nil, errors.Join(fmt.Errorf("check out base %s: %w", commit, err), remove())
	}
	at = filepath.Join(tree, prefix)
	if setup != "" {
		if err = shell(ctx, setup, at); err != nil {
			return "", nil, errors.Join(fmt.Errorf("set up base (--setup): %w", err), remove())
		}
	}
	return at, remove, nil
}

// git runs a git command, without hooks, and returns what it prints.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir = dir
	ownGroup(cmd) // an interrupt at the terminal is ours to handle
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Package gitfs reads commits of a git repository as file systems, straight from its objects.
//
// Nothing is checked out and nothing that a repository brings along is run or trusted: no hooks, filters, textconv, fsmonitor, replace refs, grafts
// or attributes, no GIT_* variable of the environment, no fetching. A name that may mean two commits is refused, not resolved.
package gitfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrUnknown says that a name leads to no commit that is at hand.
var ErrUnknown = errors.New("no such commit here")

// ErrAmbiguous says that a name leads to two different commits.
var ErrAmbiguous = errors.New("means two different commits")

// ErrNoRepo says that a directory is in no git work tree.
var ErrNoRepo = errors.New("not in a git work tree")

// maxOutput bounds what one git command may answer, in bytes.
const maxOutput = 256 << 20

// Repo is a repository with a work tree.
type Repo struct{ top string }

// Open finds the repository that dir is in. The error is ErrNoRepo where there is none, exec.ErrNotFound where there is no git.
func Open(ctx context.Context, dir string) (*Repo, error) {
	out, err := git(ctx, dir, "rev-parse", "--show-toplevel")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s: there is no git to read it with: %w", dir, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrNoRepo, err)
	}
	return &Repo{top: filepath.FromSlash(strings.TrimSuffix(string(out), "\n"))}, nil
}

// Top is the absolute path of the work tree.
func (r *Repo) Top() string { return r.top }

// namespaces are where git looks for a short name, in its order.
var namespaces = []string{"refs/", "refs/tags/", "refs/heads/", "refs/remotes/"}

// Commit resolves a name to the id of a commit. A tag, a branch and a remote branch of one name must agree: git alone would take the tag, which
// anybody can push. The error is ErrUnknown, with what to do in a shallow clone, or ErrAmbiguous.
func (r *Repo) Commit(ctx context.Context, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n: ") {
		return "", fmt.Errorf("%q is not the name of a commit", name)
	}
	id, err := r.resolve(ctx, name)
	if err != nil {
		return "", r.unknown(ctx, name)
	}
	for _, space := range namespaces {
		other, err := r.resolve(ctx, space+name)
		if err == nil && other != id {
			return "", fmt.Errorf("%s %w: %.12s as %s, else %.12s; give the full name, such as refs/heads/%s or refs/remotes/origin/%s", name, ErrAmbiguous, other, space+name, id, name, name)
		}
	}
	return id, nil
}

func (r *Repo) resolve(ctx context.Context, name string) (string, error) {
	out, err := git(ctx, r.top, "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

func (r *Repo) unknown(ctx context.Context, name string) error {
	advice := "git fetch it first"
	if out, err := git(ctx, r.top, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(string(out)) == "true" {
		advice = "this clone is shallow and does not hold it: `git fetch --depth=1 origin BRANCH`, or fetch-depth: 0 of actions/checkout"
	}
	return fmt.Errorf("%s: %w; %s", name, ErrUnknown, advice)
}

// Contains says whether a commit is the other one or among what came before it, as far as the clone's history reaches.
func (r *Repo) Contains(ctx context.Context, descendant, ancestor string) bool {
	_, err := git(ctx, r.top, "merge-base", "--is-ancestor", ancestor, descendant)
	return err == nil
}

// git runs one command. What the environment or the repository could make it do beyond reading is switched off.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := command(ctx, dir, args...)
	var out, complaint limited
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(complaint.String()))
	}
	if out.cut {
		return nil, fmt.Errorf("git %s: answers more than %d MiB", args[0], maxOutput>>20)
	}
	return out.Bytes(), nil
}

func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	safe := []string{"--no-pager", "--no-replace-objects", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.attributesFile=" + os.DevNull, "-c", "protocol.allow=never", "-c", "core.quotePath=false",
		"-c", "advice.graftFileDeprecated=false"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(v), "GIT_") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	return cmd
}

// limited keeps the first maxOutput bytes.
type limited struct {
	bytes.Buffer
	cut bool
}

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); len(p) > room {
		l.cut = true
		_, _ = l.Buffer.Write(p[:room])
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

var _ io.Writer = (*limited)(nil)

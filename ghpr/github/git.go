package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"

	gh "github.com/google/go-github/v66/github"
)

// Repo is what preflight needs to know of a repository.
type Repo struct {
	ID            int64
	FullName      string // owner/name as of now: it changes with a rename
	Owner         string
	DefaultBranch string
	Archived      bool
	Disabled      bool
	Private       bool
	CanPush       bool // as far as GitHub says; an App is not told
}

// Commit is a git commit as the Git Data API shows it.
type Commit struct {
	SHA     string
	Tree    string
	Parents []string
	Message string
	Author  string // "name <mail>" as git has it
}

// File is one text file for a new tree.
type File struct {
	Path    string
	Content string // UTF-8
}

// Entry is a file, or a directory, at a path of a branch.
type Entry struct {
	Path string
	SHA  string // of the blob or the tree
	Type string // file, dir, symlink, submodule
}

// Change is one file of a comparison.
type Change struct {
	Path   string
	Blob   string
	Status string // added, modified, removed, renamed, ...
}

// Comparison is what head brings on top of its common ancestor with base.
type Comparison struct {
	Status   string // ahead, behind, diverged, identical
	AheadBy  int
	BehindBy int
	Files    []Change // GitHub lists at most 300
}

// Repo reads a repository by "owner/name".
func (c *Client) Repo(ctx context.Context, full string) (Repo, error) {
	op := "get repository " + full
	owner, name, err := SplitRepo(full)
	if err != nil {
		return Repo{}, invalid(op, err)
	}
	return c.repo(ctx, op, func(ctx context.Context) (*gh.Repository, *gh.Response, error) {
		return c.gh.Repositories.Get(ctx, owner, name)
	})
}

// RepoByID reads a repository by its number, which survives a rename.
func (c *Client) RepoByID(ctx context.Context, id int64) (Repo, error) {
	return c.repo(ctx, fmt.Sprintf("get repository %d", id), func(ctx context.Context) (*gh.Repository, *gh.Response, error) {
		return c.gh.Repositories.GetByID(ctx, id)
	})
}

func (c *Client) repo(ctx context.Context, op string, get func(context.Context) (*gh.Repository, *gh.Response, error)) (out Repo, err error) {
	err = c.read(ctx, op, func(ctx context.Context) error {
		r, _, err := get(ctx)
		if err != nil {
			return err
		}
		out = Repo{ID: r.GetID(), FullName: r.GetFullName(), Owner: r.GetOwner().GetLogin(), DefaultBranch: r.GetDefaultBranch(),
			Archived: r.GetArchived(), Disabled: r.GetDisabled(), Private: r.GetPrivate(), CanPush: r.GetPermissions()["push"]}
		if _, _, err := SplitRepo(out.FullName); err != nil || out.ID <= 0 || !validName(out.Owner) {
			return odd("a repository without id or name")
		}
		return nil
	})
	return out, err
}

// Ref gives the commit a branch stands at. Absent means a clean 404.
func (c *Client) Ref(ctx context.Context, repo, branch string) (sha string, err error) {
	op := "get ref " + repo + " " + branch
	owner, name, err := repoAndBranch(repo, branch)
	if err != nil {
		return "", invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		r, _, err := c.gh.Git.GetRef(ctx, owner, name, "heads/"+branch)
		if err != nil {
			return err
		}
		sha = r.GetObject().GetSHA()
		if r.GetRef() != "refs/heads/"+branch || !IsSHA(sha) {
			return odd("a ref of another name")
		}
		return nil
	})
	return sha, err
}

// CreateRef makes a branch. A name that is taken is Refused.
func (c *Client) CreateRef(ctx context.Context, repo, branch, sha string) error {
	op := "create ref " + repo + " " + branch
	owner, name, err := repoAndBranch(repo, branch)
	if err == nil && !IsSHA(sha) {
		err = fmt.Errorf("commit %q: want 40 hex digits", sha)
	}
	if err != nil {
		return invalid(op, err)
	}
	return c.write(ctx, op, repo, func(ctx context.Context) error {
		r, _, err := c.gh.Git.CreateRef(ctx, owner, name, &gh.Reference{Ref: new("refs/heads/" + branch), Object: &gh.GitObject{SHA: &sha}})
		if err == nil && (r.GetRef() != "refs/heads/"+branch || r.GetObject().GetSHA() != sha) {
			return odd("another ref than the one created")
		}
		return err
	})
}

// Commit reads a commit by id.
func (c *Client) Commit(ctx context.Context, repo, sha string) (out Commit, err error) {
	op := "get commit " + repo + " " + sha
	owner, name, err := SplitRepo(repo)
	if err == nil && !IsSHA(sha) {
		err = fmt.Errorf("commit %q: want 40 hex digits", sha)
	}
	if err != nil {
		return out, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		got, _, err := c.gh.Git.GetCommit(ctx, owner, name, sha)
		if err != nil {
			return err
		}
		if out = commitOf(got); out.SHA != sha || !IsSHA(out.Tree) {
			return odd("another commit")
		}
		return nil
	})
	return out, err
}

func commitOf(got *gh.Commit) Commit {
	out := Commit{SHA: got.GetSHA(), Tree: got.GetTree().GetSHA(), Message: got.GetMessage()}
	if a := got.GetAuthor(); a != nil {
		out.Author = a.GetName() + " <" + a.GetEmail() + ">"
	}
	for _, p := range got.Parents {
		out.Parents = append(out.Parents, p.GetSHA())
	}
	return out
}

// CreateTree makes a tree: baseTree with the files put in. Both must be given: without a base the tree would hold nothing else, which
// deletes everything.
func (c *Client) CreateTree(ctx context.Context, repo, baseTree string, files []File) (sha string, err error) {
	op := "create tree " + repo
	owner, name, err := SplitRepo(repo)
	if err == nil && !IsSHA(baseTree) {
		err = errors.New("no base tree: the new tree would delete every other file")
	}
	if err == nil && len(files) == 0 {
		err = errors.New("no files")
	}
	if err != nil {
		return "", invalid(op, err)
	}
	entries := make([]*gh.TreeEntry, len(files))
	for i, f := range files {
		if err := CheckPath(f.Path); err != nil {
			return "", invalid(op, err)
		}
		entries[i] = &gh.TreeEntry{Path: new(f.Path), Mode: new("100644"), Type: new("blob"), Content: new(f.Content)}
	}
	err = c.write(ctx, op, repo, func(ctx context.Context) error {
		t, _, err := c.gh.Git.CreateTree(ctx, owner, name, baseTree, entries)
		if err == nil && !IsSHA(t.GetSHA()) {
			return odd("a tree without id")
		}
		sha = t.GetSHA()
		return err
	})
	return sha, err
}

// CreateCommit makes a commit that nothing points to yet. It names no author and no date: only so does GitHub sign an App's commit.
func (c *Client) CreateCommit(ctx context.Context, repo string, want Commit) (out Commit, err error) {
	op := "create commit " + repo
	owner, name, err := SplitRepo(repo)
	if err == nil && (!IsSHA(want.Tree) || len(want.Parents) != 1 || !IsSHA(want.Parents[0])) {
		err = errors.New("want a tree and exactly one parent")
	}
	if err != nil {
		return out, invalid(op, err)
	}
	ask := &gh.Commit{Message: &want.Message, Tree: &gh.Tree{SHA: &want.Tree}, Parents: []*gh.Commit{{SHA: &want.Parents[0]}}}
	err = c.write(ctx, op, repo, func(ctx context.Context) error {
		got, _, err := c.gh.Git.CreateCommit(ctx, owner, name, ask, nil)
		if err != nil {
			return err
		}
		out = commitOf(got)
		if !IsSHA(out.SHA) || out.Tree != want.Tree || len(out.Parents) != 1 || out.Parents[0] != want.Parents[0] {
			return odd("another commit than the one created")
		}
		return nil
	})
	return out, err
}

// Compare tells what head brings on top of base; both are branch names or commit ids.
func (c *Client) Compare(ctx context.Context, repo, base, head string) (out Comparison, err error) {
	op := "compare " + repo + " " + base + "..." + head
	owner, name, err := repoAndBranch(repo, base)
	if err == nil {
		err = CheckBranch(head)
	}
	if err != nil {
		return out, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		got, _, err := c.gh.Repositories.CompareCommits(ctx, owner, name, base, head, nil)
		if err != nil {
			return err
		}
		if got.Status == nil || got.AheadBy == nil || got.BehindBy == nil {
			return odd("a comparison without its counts")
		}
		out = Comparison{Status: got.GetStatus(), AheadBy: got.GetAheadBy(), BehindBy: got.GetBehindBy()}
		for _, f := range got.Files {
			out.Files = append(out.Files, Change{Path: f.GetFilename(), Blob: f.GetSHA(), Status: f.GetStatus()})
		}
		return nil
	})
	return out, err
}

// Entries lists a directory at a branch or commit; for a path that is a file, that file alone. Absent if the path is not there.
func (c *Client) Entries(ctx context.Context, repo, dir, at string) (out []Entry, err error) {
	op := "list " + repo + " " + dir
	owner, name, err := repoAndBranch(repo, at)
	if err == nil {
		err = CheckPath(dir)
	}
	if err != nil {
		return nil, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		file, list, _, err := c.gh.Repositories.GetContents(ctx, owner, name, escaped(dir), &gh.RepositoryContentGetOptions{Ref: at})
		if err != nil {
			return err
		}
		if file != nil {
			list = []*gh.RepositoryContent{file}
		}
		for _, e := range list {
			if path.Base(e.GetPath()) != e.GetName() || !IsSHA(e.GetSHA()) {
				return odd("an entry without path or id")
			}
			out = append(out, Entry{Path: e.GetPath(), SHA: e.GetSHA(), Type: e.GetType()})
		}
		return nil
	})
	return out, err
}

func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// Rules names the kinds of rule that guard a branch, which need not exist yet: creation, required_signatures, pull_request, ...
// It asks past go-github's typed call, which fails on kinds it does not know.
func (c *Client) Rules(ctx context.Context, repo, branch string) (kinds []string, err error) {
	op := "get rules " + repo + " " + branch
	owner, name, err := repoAndBranch(repo, branch)
	if err != nil {
		return nil, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/rules/branches/%s", owner, name, url.PathEscape(branch)), nil)
		if err != nil {
			return err
		}
		var rules []struct{ Type string }
		if _, err := c.gh.Do(ctx, req, &rules); err != nil {
			return err
		}
		for _, r := range rules {
			kinds = append(kinds, r.Type)
		}
		return nil
	})
	return kinds, err
}

func repoAndBranch(repo, branch string) (owner, name string, err error) {
	if owner, name, err = SplitRepo(repo); err != nil {
		return "", "", err
	}
	return owner, name, CheckBranch(branch)
}

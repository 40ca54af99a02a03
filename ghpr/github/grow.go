package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v66/github"
)

// UpdateRef moves a branch on to a descendant of where it stands. A branch that moved meanwhile is Refused: nothing is ever forced.
func (c *Client) UpdateRef(ctx context.Context, repo, branch, sha string) error {
	op := "update ref " + repo + " " + branch
	owner, name, err := repoAndBranch(repo, branch)
	if err == nil && !IsSHA(sha) {
		err = fmt.Errorf("commit %q: want 40 hex digits", sha)
	}
	if err != nil {
		return invalid(op, err)
	}
	return c.write(ctx, op, repo, func(ctx context.Context) error {
		r, _, err := c.gh.Git.UpdateRef(ctx, owner, name, &gh.Reference{Ref: new("refs/heads/" + branch), Object: &gh.GitObject{SHA: &sha}}, false)
		if err == nil && (r.GetRef() != "refs/heads/"+branch || r.GetObject().GetSHA() != sha) {
			return odd("another ref than the one updated")
		}
		return err
	})
}

// EditPull replaces a pull request's title and body by what edit makes of them as they are; ok is false to leave them. GitHub compares nothing here, so
// the pull request is read when the turn to write has come, right before the write: what people write in between would be lost.
func (c *Client) EditPull(ctx context.Context, repo string, n int, edit func(Pull) (title, body string, ok bool)) error {
	op := fmt.Sprintf("edit pull %s#%d", repo, n)
	owner, name, err := SplitRepo(repo)
	if err == nil && n <= 0 {
		err = errors.New("want a number above 0")
	}
	if err != nil {
		return invalid(op, err)
	}
	return c.write(ctx, op, repo, func(ctx context.Context) error {
		now, err := c.Pull(ctx, repo, n)
		if err != nil {
			return err
		}
		title, body, ok := edit(now)
		if !ok {
			return nil
		}
		got, _, err := c.gh.PullRequests.Edit(ctx, owner, name, n, &gh.PullRequest{Title: &title, Body: &body})
		if err == nil && got.GetNumber() != n {
			return odd("another pull request than the one edited")
		}
		return err
	})
}

const maxPullCommits = 250 // what GitHub lists of one pull request

// PullCommits lists a pull request's commits, oldest first. More than GitHub lists is an error, never a short list.
func (c *Client) PullCommits(ctx context.Context, repo string, n int) (out []Commit, err error) {
	op := fmt.Sprintf("list commits of pull %s#%d", repo, n)
	err = c.pages(ctx, op, repo, n, func(ctx context.Context, owner, name string, o *gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.gh.PullRequests.ListCommits(ctx, owner, name, n, o)
		if err != nil {
			return nil, err
		}
		for _, rc := range got {
			k := commitOf(rc.Commit)
			if k.SHA = rc.GetSHA(); !IsSHA(k.SHA) {
				return nil, odd("a commit without id")
			}
			k.Parents = nil
			for _, p := range rc.Parents {
				k.Parents = append(k.Parents, p.GetSHA())
			}
			out = append(out, k)
		}
		return resp, nil
	})
	if err == nil && len(out) >= maxPullCommits {
		err = &Error{Op: op, Kind: Unknown, Message: fmt.Sprintf("%d commits or more", maxPullCommits)}
	}
	return out, err
}

// Reviews names who has reviewed a pull request: approved, asked for changes, commented or was dismissed. A review that is not submitted yet does not show.
func (c *Client) Reviews(ctx context.Context, repo string, n int) (who []string, err error) {
	op := fmt.Sprintf("list reviews of pull %s#%d", repo, n)
	err = c.pages(ctx, op, repo, n, func(ctx context.Context, owner, name string, o *gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.gh.PullRequests.ListReviews(ctx, owner, name, n, o)
		for _, r := range got {
			if r.GetState() != "PENDING" {
				who = append(who, r.GetUser().GetLogin())
			}
		}
		return resp, err
	})
	return who, err
}

// Queued reports whether a pull request is in a merge queue: only its events tell.
func (c *Client) Queued(ctx context.Context, repo string, n int) (queued bool, err error) {
	op := fmt.Sprintf("list events of pull %s#%d", repo, n)
	err = c.pages(ctx, op, repo, n, func(ctx context.Context, owner, name string, o *gh.ListOptions) (*gh.Response, error) {
		got, resp, err := c.gh.Issues.ListIssueEvents(ctx, owner, name, n, o)
		for _, e := range got {
			switch e.GetEvent() {
			case "added_to_merge_queue":
				queued = true
			case "removed_from_merge_queue":
				queued = false
			}
		}
		return resp, err
	})
	return queued, err
}

// pages reads a listing of one pull request to its end, or to its tenth page of a hundred.
func (c *Client) pages(ctx context.Context, op, repo string, n int, page func(ctx context.Context, owner, name string, o *gh.ListOptions) (*gh.Response, error)) error {
	owner, name, err := SplitRepo(repo)
	if err == nil && n <= 0 {
		err = errors.New("want a number above 0")
	}
	if err != nil {
		return invalid(op, err)
	}
	o := &gh.ListOptions{PerPage: 100}
	for range 10 {
		next := 0
		err := c.read(ctx, op, func(ctx context.Context) error {
			resp, err := page(ctx, owner, name, o)
			if err == nil {
				next = resp.NextPage
			}
			return err
		})
		if err != nil || next == 0 {
			return err
		}
		o.Page = next
	}
	return &Error{Op: op, Kind: Unknown, Message: "more than 10 pages"}
}

// MaxText is the longest file that Text reads, in bytes: what GitHub gives inline.
const MaxText = 1 << 20

// Text reads a file at a branch or commit. Absent if there is none; Refused if it is not a text of at most MaxText bytes.
func (c *Client) Text(ctx context.Context, repo, path, at string) (text string, err error) {
	op := "read " + repo + " " + path
	owner, name, err := repoAndBranch(repo, at)
	if err == nil {
		err = CheckPath(path)
	}
	if err != nil {
		return "", invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		file, _, _, err := c.gh.Repositories.GetContents(ctx, owner, name, escaped(path), &gh.RepositoryContentGetOptions{Ref: at})
		if err != nil {
			return err
		}
		if file == nil || file.GetType() != "file" || file.GetEncoding() == "none" || file.GetSize() > MaxText {
			return &Error{Kind: Refused, Status: http.StatusOK, Message: "not a file of at most a megabyte"}
		}
		text, err = file.GetContent()
		if err != nil {
			return odd("a file that cannot be decoded")
		}
		return nil
	})
	return text, err
}

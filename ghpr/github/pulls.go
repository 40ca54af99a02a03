package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	gh "github.com/google/go-github/v66/github"
)

// Pull is a pull request as read. List answers lack MergedBy.
type Pull struct {
	Number     int
	URL        string // the page for people
	State      string // open or closed, as GitHub says it
	Merged     bool
	Author     string
	HeadRef    string
	HeadSHA    string
	HeadRepoID int64 // 0 if the head repository is gone
	BaseRef    string
	Title      string
	Body       string
	Labels     []string
	CreatedAt  time.Time
	ClosedAt   time.Time
	MergedBy   string
	MergeSHA   string // only if Merged
	AutoMerge  bool   // it is merged as soon as its checks pass
}

// PullQuery selects pull requests. Head is a branch of the repository itself.
type PullQuery struct {
	State string // open, closed or all
	Head  string // optional
	Since time.Time
	// Pages bounds the listing, 100 each; 0 means 10. Newest first.
	Pages int
}

// NewPull is a pull request to make, from a branch of the repository itself.
type NewPull struct{ Head, Base, Title, Body string }

// Pulls lists pull requests, newest first, down to those created at Since. GitHub's filter on the head is only a hint: callers check
// each answer. More than Pages full pages is an error, never a short list.
func (c *Client) Pulls(ctx context.Context, repo string, q PullQuery) (out []Pull, err error) {
	op := fmt.Sprintf("list pulls %s %s %s", repo, q.State, q.Head)
	owner, name, err := SplitRepo(repo)
	if err == nil && q.Head != "" {
		err = CheckBranch(q.Head)
	}
	if err != nil {
		return nil, invalid(op, err)
	}
	o := &gh.PullRequestListOptions{State: q.State, Sort: "created", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100}}
	if q.Head != "" {
		o.Head = owner + ":" + q.Head // without the owner GitHub ignores the filter in silence
	}
	pages := q.Pages
	if pages == 0 {
		pages = 10
	}
	for range pages {
		var next int
		err := c.read(ctx, op, func(ctx context.Context) error {
			got, resp, err := c.gh.PullRequests.List(ctx, owner, name, o)
			if err != nil {
				return err
			}
			page, err := pullsOf(got)
			out, next = append(out, page...), resp.NextPage
			return err
		})
		if err != nil {
			return nil, err
		}
		if next == 0 || len(out) > 0 && out[len(out)-1].CreatedAt.Before(q.Since) {
			return out, nil
		}
		o.Page = next
	}
	return nil, &Error{Op: op, Kind: Unknown, Message: fmt.Sprintf("more than %d pages", pages)}
}

// PullsOfCommit lists the pull requests that hold a commit.
func (c *Client) PullsOfCommit(ctx context.Context, repo, sha string) (out []Pull, err error) {
	op := "list pulls of commit " + repo + " " + sha
	owner, name, err := SplitRepo(repo)
	if err == nil && !IsSHA(sha) {
		err = errors.New("want 40 hex digits")
	}
	if err != nil {
		return nil, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		got, _, err := c.gh.PullRequests.ListPullRequestsWithCommit(ctx, owner, name, sha, &gh.ListOptions{PerPage: 100})
		if err != nil {
			return err
		}
		out, err = pullsOf(got)
		return err
	})
	return out, err
}

// Pull reads one pull request by number.
func (c *Client) Pull(ctx context.Context, repo string, n int) (out Pull, err error) {
	op := fmt.Sprintf("get pull %s#%d", repo, n)
	owner, name, err := SplitRepo(repo)
	if err == nil && n <= 0 {
		err = errors.New("want a number above 0")
	}
	if err != nil {
		return out, invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		got, _, err := c.gh.PullRequests.Get(ctx, owner, name, n)
		if err != nil {
			return err
		}
		if out = pullOf(got); out.Number != n || out.State == "" || out.HeadRef == "" || out.BaseRef == "" {
			return odd("another pull request")
		}
		return nil
	})
	return out, err
}

// CreatePull opens a pull request. That one is open already for head and base is Refused.
func (c *Client) CreatePull(ctx context.Context, repo string, p NewPull) (out Pull, err error) {
	op := "create pull " + repo + " " + p.Head
	owner, name, err := repoAndBranch(repo, p.Head)
	if err == nil {
		err = CheckBranch(p.Base)
	}
	if err != nil {
		return out, invalid(op, err)
	}
	err = c.write(ctx, op, repo, func(ctx context.Context) error {
		got, _, err := c.gh.PullRequests.Create(ctx, owner, name, &gh.NewPullRequest{Title: &p.Title, Head: &p.Head, Base: &p.Base, Body: &p.Body})
		if err != nil {
			return err
		}
		if out = pullOf(got); out.Number <= 0 || out.HeadRef != p.Head || out.BaseRef != p.Base {
			return odd("no number, or another head or base")
		}
		return nil
	})
	return out, err
}

// ClosedBy names who closed a pull request: only the issue behind it knows. Empty if GitHub does not say.
func (c *Client) ClosedBy(ctx context.Context, repo string, n int) (login string, err error) {
	op := fmt.Sprintf("get issue %s#%d", repo, n)
	owner, name, err := SplitRepo(repo)
	if err != nil {
		return "", invalid(op, err)
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		got, _, err := c.gh.Issues.Get(ctx, owner, name, n)
		login = got.GetClosedBy().GetLogin()
		return err
	})
	return login, err
}

// EnsureLabel makes a label unless the repository has it.
func (c *Client) EnsureLabel(ctx context.Context, repo, label string) error {
	op := "create label " + repo + " " + label
	owner, name, err := SplitRepo(repo)
	if err == nil {
		err = CheckLabel(label)
	}
	if err != nil {
		return invalid(op, err)
	}
	err = c.read(ctx, "get label "+repo+" "+label, func(ctx context.Context) error {
		_, _, err := c.gh.Issues.GetLabel(ctx, owner, name, pathSegment(label))
		return err
	})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Absent {
		return err
	}
	err = c.write(ctx, op, repo, func(ctx context.Context) error {
		_, _, err := c.gh.Issues.CreateLabel(ctx, owner, name, &gh.Label{Name: &label, Color: new("6f5ca8")})
		return err
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusUnprocessableEntity && e.Says("already_exists") {
		return nil
	}
	return err
}

// AddLabel puts one label on a pull request; doing it twice is harmless.
func (c *Client) AddLabel(ctx context.Context, repo string, n int, label string) error {
	op := fmt.Sprintf("add label %s#%d %s", repo, n, label)
	owner, name, err := SplitRepo(repo)
	if err != nil {
		return invalid(op, err)
	}
	return c.write(ctx, op, repo, func(ctx context.Context) error {
		// The library sends a bare list, which GitHub's description no longer knows.
		req, err := c.gh.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/%s/issues/%d/labels", owner, name, n), map[string][]string{"labels": {label}})
		if err != nil {
			return err
		}
		_, err = c.gh.Do(ctx, req, nil)
		return err
	})
}

// Login is the name under which we write: the token's user, or "<app>[bot]".
func (c *Client) Login(ctx context.Context) (login string, err error) {
	err = c.read(ctx, "get own login", func(ctx context.Context) error {
		if c.app != nil {
			app, _, err := c.app.Apps.Get(ctx, "")
			if login = app.GetSlug() + "[bot]"; err == nil && app.GetSlug() == "" {
				return odd("an App without slug")
			}
			return err
		}
		u, _, err := c.gh.Users.Get(ctx, "")
		if login = u.GetLogin(); err == nil && login == "" {
			return odd("a user without login")
		}
		return err
	})
	if c.ofRun(err) {
		return actionsBot, nil
	}
	return login, err
}

func pullsOf(list []*gh.PullRequest) ([]Pull, error) {
	out := make([]Pull, len(list))
	for i, p := range list {
		if out[i] = pullOf(p); out[i].Number <= 0 || out[i].State == "" {
			return nil, odd("a pull request without number or state")
		}
	}
	return out, nil
}

func pullOf(p *gh.PullRequest) Pull {
	if p == nil {
		return Pull{}
	}
	out := Pull{Number: p.GetNumber(), URL: p.GetHTMLURL(), State: p.GetState(), Merged: p.GetMerged() || p.MergedAt != nil,
		Author: p.GetUser().GetLogin(), HeadRef: p.GetHead().GetRef(), HeadSHA: p.GetHead().GetSHA(), HeadRepoID: p.GetHead().GetRepo().GetID(),
		BaseRef: p.GetBase().GetRef(), Title: p.GetTitle(), Body: p.GetBody(), CreatedAt: p.GetCreatedAt().Time,
		ClosedAt: p.GetClosedAt().Time, MergedBy: p.GetMergedBy().GetLogin(), AutoMerge: p.AutoMerge != nil}
	if out.Merged {
		out.MergeSHA = p.GetMergeCommitSHA()
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Guard is what a branch asks of a pull request before it may be merged.
type Guard struct {
	Checks []string // required status checks, by name
	Owners bool     // code owners must review
}

// Guard reads a branch's rules, and its older protection as far as readers see it: of that the review by code owners does not show.
func (c *Client) Guard(ctx context.Context, repo, branch string) (g Guard, err error) {
	op := "get guard " + repo + " " + branch
	owner, name, err := repoAndBranch(repo, branch)
	if err != nil {
		return g, invalid(op, err)
	}
	var rules []struct {
		Type       string
		Parameters struct {
			Owners bool                       `json:"require_code_owner_review"`
			Checks []struct{ Context string } `json:"required_status_checks"`
		}
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		req, err := c.gh.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=100", owner, name, url.PathEscape(branch)), nil)
		if err == nil {
			_, err = c.gh.Do(ctx, req, &rules)
		}
		return err
	})
	if err != nil {
		return g, err
	}
	for _, r := range rules {
		g.Owners = g.Owners || r.Parameters.Owners
		for _, check := range r.Parameters.Checks {
			g.Checks = append(g.Checks, check.Context)
		}
	}
	err = c.read(ctx, op, func(ctx context.Context) error {
		b, _, err := c.gh.Repositories.GetBranch(ctx, owner, name, branch, 0)
		if err != nil {
			return err
		}
		if checks := b.GetProtection().GetRequiredStatusChecks(); checks != nil && checks.Contexts != nil {
			g.Checks = append(g.Checks, *checks.Contexts...)
		}
		return nil
	})
	return g, err
}

package fakegithub

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Human is a person with all rights, who acts past the API, as people do between two of our calls.
type Human struct {
	f     *Fake
	login string
}

// Human gives a person's hands.
func (f *Fake) Human(login string) Human { return Human{f, login} }

// on runs a deed on a repository under the mutex and stores the state.
func (h Human) on(repo string, deed func(*Repo) error) error {
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	owner, name, _ := strings.Cut(repo, "/")
	r := h.f.find(owner, name)
	if r == nil {
		return fmt.Errorf("fakegithub: no repository %s", repo)
	}
	if err := deed(r); err != nil {
		return fmt.Errorf("fakegithub: %s: %w", repo, err)
	}
	return h.f.persist()
}

func (h Human) pull(repo string, n int, deed func(*Repo, *Pull) error) error {
	return h.on(repo, func(r *Repo) error {
		p := r.pull(fmt.Sprint(n))
		if p == nil {
			return fmt.Errorf("no pull request %d", n)
		}
		return deed(r, p)
	})
}

// Close closes a pull request without a merge.
func (h Human) Close(repo string, n int) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error {
		if p.Merged {
			return errors.New("is merged")
		}
		p.State, p.ClosedAt, p.ClosedBy = "closed", time.Now().UTC(), h.login
		return nil
	})
}

// Reopen opens a closed pull request again.
func (h Human) Reopen(repo string, n int) error {
	return h.pull(repo, n, func(r *Repo, p *Pull) error {
		if p.Merged {
			return errors.New("is merged")
		}
		if head := r.git.head(p.Head); head != "" {
			p.HeadSHA = head // what was pushed meanwhile is in it again
		}
		p.State, p.ClosedAt, p.ClosedBy = "open", time.Time{}, ""
		return nil
	})
}

// EditBody replaces a pull request's body.
func (h Human) EditBody(repo string, n int, body string) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error {
		p.Body = body
		return nil
	})
}

// Retitle replaces a pull request's title.
func (h Human) Retitle(repo string, n int, title string) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error { p.Title = title; return nil })
}

// Review submits a review.
func (h Human) Review(repo string, n int) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error { p.Reviews = append(p.Reviews, h.login); return nil })
}

// Queue puts a pull request into the merge queue, or takes it out.
func (h Human) Queue(repo string, n int, in bool) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error {
		p.Events = append(p.Events, map[bool]string{true: "added_to_merge_queue", false: "removed_from_merge_queue"}[in])
		return nil
	})
}

// Arm has a pull request merged as soon as its checks pass, or takes that back.
func (h Human) Arm(repo string, n int, on bool) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error { p.AutoMerge = on; return nil })
}

// Label puts a label on.
func (h Human) Label(repo string, n int, label string) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error { p.Labels = append(p.Labels, label); return nil })
}

// Unlabel takes a label off.
func (h Human) Unlabel(repo string, n int, label string) error {
	return h.pull(repo, n, func(_ *Repo, p *Pull) error {
		var kept []string
		for _, l := range p.Labels {
			if l != label {
				kept = append(kept, l)
			}
		}
		p.Labels = kept
		return nil
	})
}

// Merge merges a pull request with a merge commit.
func (h Human) Merge(repo string, n int) error {
	return h.pull(repo, n, func(r *Repo, p *Pull) error {
		if p.State != "open" {
			return errors.New("is not open")
		}
		base := r.git.head(p.Base)
		tree, err := r.git.text("merge-tree", "--write-tree", base, p.HeadSHA)
		if err != nil {
			return err
		}
		sha, err := r.git.putCommit(h.commit(tree, fmt.Sprintf("Merge pull request #%d from %s\n", p.Number, p.Head), base, p.HeadSHA))
		if err != nil {
			return err
		}
		if err := r.git.moveRef(p.Base, base, sha); err != nil {
			return err
		}
		p.State, p.Merged, p.MergeSHA, p.ClosedAt, p.ClosedBy = "closed", true, sha, time.Now().UTC(), h.login
		return nil
	})
}

func (h Human) commit(tree, message string, parents ...string) commit {
	return commit{tree: tree, parents: parents, message: message, author: h.login, mail: h.login + "@example.com", when: time.Now().UTC().Truncate(time.Second)}
}

// Push commits one file onto a branch; a branch that is not there starts at the default branch. It gives the new head.
func (h Human) Push(repo, branch, path, text string) (sha string, err error) {
	err = h.on(repo, func(r *Repo) error {
		old := r.git.head(branch)
		parent := old
		if parent == "" {
			parent = r.git.head(r.Default)
		}
		base, _ := r.git.commit(parent)
		tree, err := r.git.putFiles(base.tree, []treeEntry{{mode: "100644", path: path}}, []string{text})
		if err != nil {
			return err
		}
		if sha, err = r.git.putCommit(h.commit(tree, "change "+path+"\n", parent)); err != nil {
			return err
		}
		if err := r.git.moveRef(branch, old, sha); err != nil {
			return err
		}
		r.changed = refChange{branch, old}
		r.follow(branch, sha)
		return nil
	})
	return sha, err
}

// RenameBranch renames a branch: pull requests follow it, and so does the default branch.
func (h Human) RenameBranch(repo, from, to string) error {
	return h.on(repo, func(r *Repo) error {
		sha := r.git.head(from)
		if err := r.git.moveRef(to, "", sha); err != nil {
			return err
		}
		if r.Default == from {
			if _, err := r.git.text("symbolic-ref", "HEAD", "refs/heads/"+to); err != nil {
				return err
			}
			r.Default = to
		}
		for _, p := range r.Pulls {
			if p.State == "open" && p.Base == from {
				p.Base = to
			}
			if p.State == "open" && p.Head == from {
				p.Head = to
			}
		}
		return r.git.moveRef(from, sha, "")
	})
}

// DeleteBranch deletes a branch, which closes its open pull requests.
func (h Human) DeleteBranch(repo, branch string) error {
	return h.on(repo, func(r *Repo) error {
		old := r.git.head(branch)
		if old == "" {
			return fmt.Errorf("no branch %s", branch)
		}
		if err := r.git.moveRef(branch, old, ""); err != nil {
			return err
		}
		r.changed = refChange{branch, old}
		r.closeFrom(branch, h.login)
		return nil
	})
}

// Open opens a pull request from a branch.
func (h Human) Open(repo, head, base, title string) (n int, err error) {
	err = h.on(repo, func(r *Repo) error {
		n = len(r.Pulls) + 1
		r.Pulls = append(r.Pulls, &Pull{Number: n, Title: title, State: "open", Author: h.login, Head: head, HeadSHA: r.git.head(head),
			Base: base, BaseSHA: r.git.head(base), CreatedAt: time.Now().UTC().Truncate(time.Second)})
		return nil
	})
	return n, err
}

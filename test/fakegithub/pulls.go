package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func (r *Repo) pull(n string) *Pull {
	i, err := strconv.Atoi(n)
	if err != nil {
		return nil
	}
	for _, p := range r.Pulls {
		if p.Number == i {
			return p
		}
	}
	return nil
}

// follow moves the heads of open pull requests with their branch.
func (r *Repo) follow(branch, sha string) {
	for _, p := range r.Pulls {
		if p.State == "open" && p.Head == branch {
			p.HeadSHA = sha
		}
	}
}

// closeFrom closes the open pull requests of a branch that is gone.
func (r *Repo) closeFrom(branch, who string) {
	for _, p := range r.Pulls {
		if p.State == "open" && (p.Head == branch || p.Base == branch) {
			p.State, p.ClosedAt, p.ClosedBy = "closed", time.Now().UTC(), who
		}
	}
}

// visible gives the pull requests, newest first, as a reader with stale eyes sees them.
func (c *call) visible() []*Pull {
	list := slices.Clone(c.repo.Pulls)
	slices.Reverse(list)
	if len(list) > 0 && c.stale["pulls"] > 0 {
		c.stale["pulls"]--
		return list[1:]
	}
	return list
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// pullCommits lists what the head has beyond the base as it was when the pull request was opened, oldest first.
func pullCommits(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil || !slices.Contains(c.visible(), p) {
		return fail(404, "Not Found")
	}
	out, err := c.git.text("rev-list", "--reverse", p.BaseSHA+".."+p.HeadSHA)
	if err != nil {
		return fail(500, err.Error())
	}
	list := []object{}
	for _, sha := range strings.Fields(out) {
		k, _ := c.git.commit(sha)
		list = append(list, c.commitObject(k))
	}
	return c.paged(list[:min(len(list), 250)])
}

func pullReviews(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	list := []object{}
	for i, who := range p.Reviews {
		id, page, pull := strconv.Itoa(i+1), c.pageOf("pull", strconv.Itoa(p.Number)), c.link("pulls", strconv.Itoa(p.Number))
		list = append(list, object{"id": i + 1, "node_id": "PRR_" + id, "user": c.userObject(who), "body": "", "state": "COMMENTED", "commit_id": p.HeadSHA,
			"html_url": page + "#pullrequestreview-" + id, "pull_request_url": pull, "author_association": "MEMBER", "submitted_at": stamp(p.CreatedAt),
			"_links": object{"html": object{"href": page}, "pull_request": object{"href": pull}}})
	}
	return c.paged(list)
}

func issueEvents(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	list := []object{}
	for i, what := range p.Events {
		list = append(list, object{"id": i + 1, "node_id": fmt.Sprintf("EV_%d", i+1), "event": what, "actor": c.userObject("somebody"), "created_at": stamp(p.CreatedAt),
			"url": c.link("issues/events", strconv.Itoa(i+1)), "commit_id": nil, "commit_url": nil, "performed_via_github_app": nil})
	}
	return c.paged(list)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// createPull refuses what GitHub refuses: a head or base that is not there, nothing between them, a second one that is open.
func createPull(c *call) reply {
	var in struct{ Title, Head, Base, Body string }
	if !c.decode(&in) || in.Head == "" || in.Base == "" {
		return fail(422, `Invalid request. "head" and "base" weren't supplied.`)
	}
	if out, bad := checkTexts(in.Title, in.Body); bad {
		return out
	}
	owner, head, named := strings.Cut(in.Head, ":")
	if !named {
		owner, head = c.repo.Owner, in.Head
	}
	headSHA, baseSHA := c.git.head(head), c.git.head(in.Base)
	switch {
	case !strings.EqualFold(owner, c.repo.Owner) || headSHA == "":
		return invalid("PullRequest", "head", "invalid", "")
	case baseSHA == "":
		return invalid("PullRequest", "base", "invalid", "")
	}
	for _, p := range c.repo.Pulls {
		if p.State == "open" && p.Head == head && p.Base == in.Base {
			return invalid("PullRequest", "", "custom", "A pull request already exists for "+c.repo.Owner+":"+head+".")
		}
	}
	if _, ahead := c.git.count(baseSHA, headSHA); ahead == 0 {
		return invalid("PullRequest", "", "custom", "No commits between "+in.Base+" and "+head)
	}
	p := &Pull{Number: len(c.repo.Pulls) + 1, Title: in.Title, Body: in.Body, State: "open", Author: c.user.Login, Head: head, HeadSHA: headSHA,
		Base: in.Base, BaseSHA: baseSHA, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	c.repo.Pulls = append(c.repo.Pulls, p)
	return ok(201, c.fullPull(p))
}

func checkTexts(title, body string) (reply, bool) {
	switch {
	case strings.TrimSpace(title) == "":
		return invalid("PullRequest", "title", "missing_field", ""), true
	case utf8.RuneCountInString(title) > 256:
		return invalid("PullRequest", "title", "custom", "title is too long (maximum is 256 characters)"), true
	case utf8.RuneCountInString(body) > 65536:
		return invalid("PullRequest", "body", "custom", "body is too long (maximum is 65536 characters)"), true
	}
	return reply{}, false
}

// listPulls ignores a head filter without an owner in silence, as GitHub does.
func listPulls(c *call) reply {
	q := c.req.URL.Query()
	state, head, base := q.Get("state"), q.Get("head"), q.Get("base")
	owner, branch, filter := strings.Cut(head, ":")
	list := []object{}
	for _, p := range c.visible() {
		switch {
		case state != "all" && p.State != orElse(state, "open"):
		case filter && (p.Head != branch || !strings.EqualFold(owner, c.repo.Owner)):
		case base != "" && p.Base != base:
		default:
			list = append(list, c.pullObject(p))
		}
	}
	if q.Get("direction") == "asc" {
		slices.Reverse(list)
	}
	return c.paged(list)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (c *call) paged(list []object) reply {
	q := c.req.URL.Query()
	size, _ := strconv.Atoi(q.Get("per_page"))
	if size <= 0 || size > 100 {
		size = 30
	}
	page, _ := strconv.Atoi(q.Get("page"))
	page = max(page, 1)
	from, to := min((page-1)*size, len(list)), min(page*size, len(list))
	out := ok(200, list[from:to])
	if to < len(list) {
		q.Set("page", strconv.Itoa(page+1))
		out.header = http.Header{"Link": {fmt.Sprintf(`<%s%s?%s>; rel="next"`, c.host, c.req.URL.Path, q.Encode())}}
	}
	return out
}

func getPull(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil || !slices.Contains(c.visible(), p) {
		return fail(404, "Not Found")
	}
	return ok(200, c.fullPull(p))
}

func editPull(c *call) reply {
	var in struct{ Title, Body, State, Base *string }
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	if !c.decode(&in) {
		return fail(422, "Invalid request")
	}
	title, body := p.Title, p.Body
	if in.Title != nil {
		title = *in.Title
	}
	if in.Body != nil {
		body = *in.Body
	}
	if out, bad := checkTexts(title, body); bad {
		return out
	}
	if in.State != nil && *in.State != p.State {
		if out, bad := c.setState(p, *in.State); bad {
			return out
		}
	}
	p.Title, p.Body = title, body
	return ok(200, c.fullPull(p))
}

func (c *call) setState(p *Pull, state string) (reply, bool) {
	switch {
	case state == "closed":
		p.State, p.ClosedAt, p.ClosedBy = "closed", time.Now().UTC(), c.user.Login
	case state == "open" && !p.Merged && c.git.head(p.Head) != "":
		p.State, p.ClosedAt, p.ClosedBy = "open", time.Time{}, ""
	default:
		return invalid("PullRequest", "state", "invalid", "state cannot be changed."), true
	}
	return reply{}, false
}

func commitPulls(c *call) reply {
	if _, there := c.git.commit(c.arg("sha")); !there {
		return fail(422, "No commit found for SHA: "+c.arg("sha"))
	}
	list := []object{}
	for _, p := range c.visible() {
		if p.HeadSHA == c.arg("sha") || c.git.isAncestor(c.arg("sha"), p.HeadSHA) && !c.git.isAncestor(c.arg("sha"), p.BaseSHA) {
			list = append(list, c.pullObject(p))
		}
	}
	return c.paged(list)
}

func getIssue(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	return ok(200, c.issueObject(p))
}

func (r *Repo) hasLabel(name string) bool {
	return slices.ContainsFunc(r.Labels, func(l string) bool { return strings.EqualFold(l, name) })
}

func getLabel(c *call) reply {
	if !c.repo.hasLabel(c.arg("label")) {
		return fail(404, "Not Found")
	}
	return ok(200, c.labelObject(c.arg("label")))
}

func createLabel(c *call) reply {
	var in struct{ Name string }
	if !c.decode(&in) || in.Name == "" || len(in.Name) > 50 {
		return invalid("Label", "name", "missing_field", "")
	}
	if c.repo.hasLabel(in.Name) {
		return invalid("Label", "name", "already_exists", "")
	}
	c.repo.Labels = append(c.repo.Labels, in.Name)
	return ok(201, c.labelObject(in.Name))
}

func issueLabels(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	return ok(200, c.labelObjects(p.Labels))
}

// addLabels takes a bare list and an object with one, as GitHub does.
func addLabels(c *call) reply {
	p := c.repo.pull(c.arg("n"))
	if p == nil {
		return fail(404, "Not Found")
	}
	var names []string
	var in struct{ Labels []string }
	if !c.decode(&names) {
		if !c.decode(&in) {
			return fail(422, "Invalid request")
		}
		names = in.Labels
	}
	for _, l := range names {
		if !c.repo.hasLabel(l) {
			if c.o.UnknownLabels == "refuse" {
				return invalid("Label", "name", "invalid", "")
			}
			c.repo.Labels = append(c.repo.Labels, l)
		}
	}
	for _, l := range names {
		if !slices.Contains(p.Labels, l) {
			p.Labels = append(p.Labels, l)
		}
	}
	return issueLabels(c)
}

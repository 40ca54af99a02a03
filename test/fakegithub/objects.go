package fakegithub

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The objects have every field that GitHub's description requires, with what is true of the fake; links of features that it lacks lead nowhere.

// began is when all users, and a repository whose state says nothing else, came to be.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)

func (c *call) userObject(login string) object {
	if login == "" {
		return nil
	}
	kind, url := "User", c.host+"/users/"+login
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	o := object{"login": login, "id": userID(login), "node_id": "U_" + login, "type": kind, "site_admin": false, "gravatar_id": "", "url": url,
		"html_url": c.host + "/" + login, "avatar_url": c.host + "/avatars/" + login, "events_url": url + "/events{/privacy}",
		"following_url": url + "/following{/other_user}", "gists_url": url + "/gists{/gist_id}", "organizations_url": url + "/orgs",
		"starred_url": url + "/starred{/owner}{/repo}"}
	for _, what := range []string{"followers", "received_events", "repos", "subscriptions"} {
		o[what+"_url"] = url + "/" + what
	}
	return o
}

// userID is a number that follows from the name.
func userID(login string) int64 {
	var n int64 = 17
	for _, r := range login {
		n = (n*31 + int64(r)) % 1_000_000_007
	}
	return n
}

// selfObject is the user that asks, as GET /user gives it.
func (c *call) selfObject() object {
	o := c.userObject(c.user.Login)
	for _, null := range []string{"bio", "blog", "company", "email", "hireable", "location", "name"} {
		o[null] = nil
	}
	for _, none := range []string{"followers", "following", "public_gists", "public_repos"} {
		o[none] = 0
	}
	o["created_at"], o["updated_at"], o["user_view_type"] = began, began, "public"
	return o
}

// repoLinks are the links of a repository below its own.
var repoLinks = map[string]string{"archive": "/{archive_format}{/ref}", "assignees": "/assignees{/user}", "blobs": "/git/blobs{/sha}",
	"branches": "/branches{/branch}", "collaborators": "/collaborators{/collaborator}", "comments": "/comments{/number}", "commits": "/commits{/sha}",
	"compare": "/compare/{base}...{head}", "contents": "/contents/{+path}", "contributors": "/contributors", "deployments": "/deployments",
	"downloads": "/downloads", "events": "/events", "forks": "/forks", "git_commits": "/git/commits{/sha}", "git_refs": "/git/refs{/sha}",
	"git_tags": "/git/tags{/sha}", "hooks": "/hooks", "issue_comment": "/issues/comments{/number}", "issue_events": "/issues/events{/number}",
	"issues": "/issues{/number}", "keys": "/keys{/key_id}", "labels": "/labels{/name}", "languages": "/languages", "merges": "/merges",
	"milestones": "/milestones{/number}", "notifications": "/notifications{?since,all,participating}", "pulls": "/pulls{/number}",
	"releases": "/releases{/id}", "stargazers": "/stargazers", "statuses": "/statuses/{sha}", "subscribers": "/subscribers",
	"subscription": "/subscription", "tags": "/tags", "teams": "/teams", "trees": "/git/trees{/sha}"}

// repoObject is a repository as it stands inside other objects.
func (c *call) repoObject(r *Repo) object {
	url, page := c.host+"/repos/"+r.full(), c.host+"/"+r.full()
	o := object{"id": r.ID, "node_id": fmt.Sprintf("R_%d", r.ID), "name": r.Name, "full_name": r.full(), "private": r.Private, "owner": c.userObject(r.Owner),
		"html_url": page, "url": url, "fork": false, "description": nil, "homepage": nil, "language": nil, "license": nil, "mirror_url": nil,
		"default_branch": r.Default, "archived": r.Archived, "disabled": false, "visibility": map[bool]string{true: "private", false: "public"}[r.Private],
		"has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": false, "has_discussions": false,
		"clone_url": page + ".git", "svn_url": page, "git_url": "git:" + strings.TrimPrefix(page, "http:") + ".git", "ssh_url": "git@fake:" + r.full() + ".git",
		"created_at": began, "updated_at": began, "pushed_at": began}
	for _, none := range []string{"forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count", "watchers", "watchers_count"} {
		o[none] = 0
	}
	for what, path := range repoLinks {
		o[what+"_url"] = url + path
	}
	if push := c.user.Right == "write"; !c.user.Bot {
		o["permissions"] = object{"admin": false, "push": push, "pull": true, "triage": push, "maintain": false}
	}
	return o
}

// fullRepo is a repository as its own operation gives it.
func (c *call) fullRepo(r *Repo) object {
	o := c.repoObject(r)
	o["network_count"], o["subscribers_count"] = 0, 0
	return o
}

func (c *call) refObject(branch, sha string) object {
	return object{"ref": "refs/heads/" + branch, "node_id": "REF_" + branch, "url": c.link("git/refs/heads", branch),
		"object": object{"type": "commit", "sha": sha, "url": c.link("git/commits", sha)}}
}

func (c *call) pageOf(parts ...string) string {
	return c.host + "/" + c.repo.full() + "/" + strings.Join(parts, "/")
}

func (c *call) parents(k commit, api string) []object {
	list := []object{}
	for _, p := range k.parents {
		list = append(list, object{"sha": p, "url": c.link(api, p), "html_url": c.pageOf("commit", p)})
	}
	return list
}

// innerCommit is what the two forms of a commit share.
func (c *call) innerCommit(k commit) object {
	who := object{"name": k.author, "email": k.mail, "date": k.when.UTC().Format(time.RFC3339)}
	return object{"url": c.link("git/commits", k.sha), "message": k.message, "author": who, "committer": who,
		"tree": object{"sha": k.tree, "url": c.link("git/trees", k.tree)},
		"verification": object{"verified": c.user.Bot, "reason": map[bool]string{true: "valid", false: "unsigned"}[c.user.Bot], "signature": nil, "payload": nil,
			"verified_at": nil}}
}

// gitCommit is a commit as the Git Data API gives it.
func (c *call) gitCommit(k commit) object {
	o := c.innerCommit(k)
	o["sha"], o["node_id"], o["html_url"], o["parents"] = k.sha, "C_"+k.sha, c.pageOf("commit", k.sha), c.parents(k, "git/commits")
	return o
}

// commitObject is a commit as all other operations give it.
func (c *call) commitObject(k commit) object {
	inner := c.innerCommit(k)
	inner["comment_count"] = 0
	return object{"sha": k.sha, "node_id": "C_" + k.sha, "url": c.link("commits", k.sha), "html_url": c.pageOf("commit", k.sha),
		"comments_url": c.link("commits", k.sha, "comments"), "commit": inner, "author": nil, "committer": nil, "parents": c.parents(k, "commits")}
}

func (c *call) labelObject(name string) object {
	return object{"id": userID(name), "node_id": "LA_" + name, "name": name, "color": "ededed", "default": false, "description": "", "url": c.link("labels", name)}
}

func (c *call) labelObjects(names []string) []object {
	list := []object{}
	for _, l := range names {
		list = append(list, c.labelObject(l))
	}
	return list
}

// common is what a pull request and its issue share.
func (c *call) common(p *Pull) object {
	n := strconv.Itoa(p.Number)
	return object{"id": c.repo.ID*10_000 + int64(p.Number), "number": p.Number, "state": p.State, "locked": false, "title": p.Title, "body": p.Body,
		"user": c.userObject(p.Author), "labels": c.labelObjects(p.Labels), "assignee": nil, "assignees": []object{}, "milestone": nil, "draft": false,
		"html_url": c.pageOf("pull", n), "created_at": stamp(p.CreatedAt), "updated_at": stamp(p.CreatedAt), "closed_at": stamp(p.ClosedAt),
		"comments_url": c.link("issues", n, "comments"), "author_association": "CONTRIBUTOR"}
}

// pullObject is a pull request as lists give it.
func (c *call) pullObject(p *Pull) object {
	n := strconv.Itoa(p.Number)
	side := func(branch, sha string) object {
		return object{"label": c.repo.Owner + ":" + branch, "ref": branch, "sha": sha, "user": c.userObject(c.repo.Owner), "repo": c.repoObject(c.repo)}
	}
	o := c.common(p)
	o["node_id"], o["url"], o["issue_url"] = "PR_"+n, c.link("pulls", n), c.link("issues", n)
	o["diff_url"], o["patch_url"] = c.pageOf("pull", n+".diff"), c.pageOf("pull", n+".patch")
	o["commits_url"], o["statuses_url"] = c.link("pulls", n, "commits"), c.link("statuses", p.HeadSHA)
	o["review_comments_url"], o["review_comment_url"] = c.link("pulls", n, "comments"), c.link("pulls/comments{/number}")
	o["requested_reviewers"], o["requested_teams"] = []object{}, []object{}
	o["head"], o["base"] = side(p.Head, p.HeadSHA), side(p.Base, p.BaseSHA)
	o["merged_at"], o["merge_commit_sha"], o["auto_merge"] = nil, orNull(p.MergeSHA), c.autoMerge(p)
	if p.Merged {
		o["merged_at"] = stamp(p.ClosedAt)
	}
	links := object{}
	for to, from := range map[string]string{"self": "url", "html": "html_url", "issue": "issue_url", "comments": "comments_url",
		"review_comments": "review_comments_url", "review_comment": "review_comment_url", "commits": "commits_url", "statuses": "statuses_url"} {
		links[to] = object{"href": o[from]}
	}
	o["_links"] = links
	return o
}

// fullPull is a pull request as its own operation gives it. Asking makes GitHub find out whether it can be merged: the first answer is null.
func (c *call) fullPull(p *Pull) object {
	o := c.pullObject(p)
	size := c.size(p)
	o["commits"], o["changed_files"], o["additions"], o["deletions"] = size.commits, size.files, size.added, size.removed
	o["comments"], o["review_comments"], o["maintainer_can_modify"] = 0, 0, false
	o["merged"], o["merged_by"], o["mergeable"], o["mergeable_state"] = p.Merged, nil, nil, "unknown"
	if p.asked {
		o["mergeable"], o["mergeable_state"] = true, "clean"
	}
	p.asked = true
	if p.Merged {
		o["merged_by"] = c.userObject(p.ClosedBy)
	}
	return o
}

// issueObject is a pull request seen as an issue.
func (c *call) issueObject(p *Pull) object {
	n := strconv.Itoa(p.Number)
	o := c.common(p)
	o["node_id"], o["url"], o["repository_url"], o["comments"] = "PR_"+n, c.link("issues", n), strings.TrimSuffix(c.link(""), "/"), 0
	o["labels_url"], o["events_url"] = c.link("issues", n, "labels{/name}"), c.link("issues", n, "events")
	o["pull_request"] = object{"url": c.link("pulls", n), "html_url": c.pageOf("pull", n), "diff_url": c.pageOf("pull", n+".diff"),
		"patch_url": c.pageOf("pull", n+".patch"), "merged_at": nil}
	o["closed_by"] = nil
	if p.ClosedBy != "" {
		o["closed_by"] = c.userObject(p.ClosedBy)
	}
	return o
}

func (c *call) autoMerge(p *Pull) any {
	if !p.AutoMerge {
		return nil
	}
	return object{"enabled_by": c.userObject("somebody"), "merge_method": "squash", "commit_title": "", "commit_message": ""}
}

// pullSize is how much a pull request changes.
type pullSize struct{ commits, files, added, removed int }

// size counts once for a head and a base: git is asked in a process of its own.
func (c *call) size(p *Pull) pullSize {
	key := p.BaseSHA + p.HeadSHA
	if s, known := c.sizes[key]; known {
		return s
	}
	var s pullSize
	_, s.commits = c.git.count(p.BaseSHA, p.HeadSHA)
	if root := c.git.mergeBase(p.BaseSHA, p.HeadSHA); root != "" {
		files, _ := c.git.diff(root, p.HeadSHA) // what cannot be read counts as nothing
		for _, f := range files {
			s.files, s.added, s.removed = s.files+1, s.added+f.added, s.removed+f.removed
		}
	}
	c.sizes[key] = s
	return s
}

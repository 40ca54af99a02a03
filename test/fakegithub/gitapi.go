package fakegithub

import (
	"encoding/base64"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"
)

// empty answers 409 for a repository without a commit; the Git Data API does not work there.
func (c *call) empty() (reply, bool) {
	if c.git.head(c.repo.Default) != "" {
		return reply{}, false
	}
	if all, err := c.git.branches(); err != nil || len(all) > 0 {
		return reply{}, false
	}
	return fail(409, "Git Repository is empty."), true
}

func (c *call) link(parts ...string) string {
	return c.host + "/repos/" + c.repo.full() + "/" + strings.Join(parts, "/")
}

func getRef(c *call) reply {
	branch, heads := strings.CutPrefix(c.arg("ref"), "heads/")
	if out, bad := c.empty(); bad {
		return out
	}
	sha := ""
	if heads {
		sha = c.git.head(branch)
	}
	if last := c.repo.changed; last.branch == branch && c.stale["refs"] > 0 {
		c.stale["refs"]--
		sha = last.old
	}
	if sha == "" {
		return fail(404, "Not Found")
	}
	return ok(200, c.refObject(branch, sha))
}

func createRef(c *call) reply {
	var in struct{ Ref, SHA string }
	if !c.decode(&in) || in.Ref == "" || in.SHA == "" {
		return fail(422, `Invalid request. "ref" and "sha" weren't supplied.`)
	}
	if out, bad := c.empty(); bad {
		return out
	}
	branch, heads := strings.CutPrefix(in.Ref, "refs/heads/")
	if !heads {
		return fail(422, "Reference name must start with 'refs/heads/' here")
	}
	if _, there := c.git.commit(in.SHA); !there {
		return fail(422, "Object does not exist")
	}
	if c.git.head(branch) != "" {
		return fail(422, "Reference already exists")
	}
	if err := c.git.moveRef(branch, "", in.SHA); err != nil {
		return fail(422, "Reference update failed") // a bad name, or a branch where a directory is needed
	}
	c.repo.changed = refChange{branch, ""}
	return ok(201, c.refObject(branch, in.SHA))
}

func updateRef(c *call) reply {
	var in struct {
		SHA   string
		Force bool
	}
	branch := strings.TrimPrefix(c.arg("ref"), "heads/")
	if !c.decode(&in) {
		return fail(422, `Invalid request. "sha" wasn't supplied.`)
	}
	old := c.git.head(branch)
	if _, there := c.git.commit(in.SHA); old == "" || !there {
		return fail(422, "Reference does not exist")
	}
	if !in.Force && !c.git.isAncestor(old, in.SHA) {
		return fail(422, "Update is not a fast forward")
	}
	if err := c.git.moveRef(branch, old, in.SHA); err != nil {
		return fail(422, "Reference update failed")
	}
	c.moved(branch, old, in.SHA)
	return ok(200, c.refObject(branch, in.SHA))
}

func deleteRef(c *call) reply {
	branch := strings.TrimPrefix(c.arg("ref"), "heads/")
	old := c.git.head(branch)
	if old == "" || c.git.moveRef(branch, old, "") != nil {
		return fail(422, "Reference does not exist")
	}
	c.repo.closeFrom(branch, c.user.Login)
	c.repo.changed = refChange{branch, old}
	return ok(http.StatusNoContent, nil)
}

// moved lets open pull requests follow their branch.
func (c *call) moved(branch, old, sha string) {
	c.repo.changed = refChange{branch, old}
	c.repo.follow(branch, sha)
}

func getCommit(c *call) reply {
	k, there := c.git.commit(c.arg("sha"))
	if !there {
		return fail(404, "Not Found")
	}
	return ok(200, c.gitCommit(k))
}

func createCommit(c *call) reply {
	var in struct {
		Message, Tree string
		Parents       []string
		Author        *struct {
			Name, Email string
			Date        time.Time
		}
	}
	if !c.decode(&in) || in.Message == "" || in.Tree == "" {
		return fail(422, `Invalid request. "message" and "tree" weren't supplied.`)
	}
	if out, bad := c.empty(); bad {
		return out
	}
	if kind, err := c.git.text("cat-file", "-t", in.Tree); !isSHA(in.Tree) || err != nil || kind != "tree" {
		return fail(422, "Tree SHA does not exist")
	}
	for _, p := range in.Parents {
		if _, there := c.git.commit(p); !there {
			return fail(422, "Parent SHA does not exist or is not a commit object")
		}
	}
	k := commit{tree: in.Tree, parents: in.Parents, message: in.Message, author: c.user.Login,
		mail: c.user.Login + "@users.noreply.github.com", when: time.Now().UTC().Truncate(time.Second)}
	if in.Author != nil {
		k.author, k.mail = in.Author.Name, in.Author.Email
		if !in.Author.Date.IsZero() {
			k.when = in.Author.Date
		}
	}
	sha, err := c.git.putCommit(k)
	if err != nil {
		return fail(422, "Invalid commit")
	}
	k.sha = sha
	c.git.commits[sha] = k
	return ok(201, c.gitCommit(k))
}

func (c *call) treeObject(sha string, recursive bool) reply {
	entries, err := c.git.list(sha, "", recursive)
	if err != nil {
		return fail(404, "Not Found")
	}
	list := []object{}
	for _, e := range entries {
		list = append(list, object{"path": e.path, "mode": e.mode, "type": e.kind, "sha": e.sha, "url": c.link("git", e.kind+"s", e.sha)})
	}
	return ok(200, object{"sha": sha, "url": c.link("git/trees", sha), "tree": list, "truncated": false})
}

func getTree(c *call) reply {
	sha, err := c.git.text("rev-parse", "--verify", "--quiet", c.arg("sha")+"^{tree}")
	if err != nil {
		return fail(404, "Not Found")
	}
	return c.treeObject(sha, c.req.URL.Query().Get("recursive") != "")
}

// createTree is strict and as dangerous as GitHub's: without base_tree the tree holds the entries and nothing else, and an entry
// with a null sha deletes.
func createTree(c *call) reply {
	var in struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA              *string
			Content          *string
		}
	}
	if !c.decode(&in) || len(in.Tree) == 0 {
		return fail(422, `Invalid tree info`)
	}
	if out, bad := c.empty(); bad {
		return out
	}
	entries, texts := make([]treeEntry, len(in.Tree)), make([]string, len(in.Tree))
	for i, e := range in.Tree {
		if e.Path == "" || path.Clean(e.Path) != e.Path || e.Path[0] == '/' || strings.HasPrefix(e.Path, "..") || strings.Contains("/"+e.Path+"/", "/.git/") {
			return fail(422, "tree.path contains a malformed path component")
		}
		for prefix, words := range c.closed {
			if strings.HasPrefix(e.Path, prefix) {
				return fail(403, words)
			}
		}
		entries[i] = treeEntry{mode: e.Mode, path: e.Path}
		switch {
		case e.Content != nil && e.SHA != nil:
			return fail(422, "Must supply either tree.sha or tree.content, not both")
		case e.Content != nil:
			texts[i] = *e.Content
		case e.SHA != nil:
			entries[i].sha = *e.SHA
		}
	}
	if in.BaseTree != "" && !isSHA(in.BaseTree) {
		return fail(422, "base_tree is not a valid tree oid")
	}
	sha, err := c.git.putFiles(in.BaseTree, entries, texts)
	if ge, isGit := errors.AsType[*gitError](err); isGit {
		return fail(422, "Invalid tree: "+ge.text)
	}
	if err != nil {
		return fail(500, err.Error())
	}
	out := c.treeObject(sha, false)
	out.status = 201
	return out
}

func getBlob(c *call) reply {
	text, err := c.git.run("", nil, "cat-file", "blob", c.arg("sha"))
	if err != nil || !isSHA(c.arg("sha")) {
		return fail(404, "Not Found")
	}
	return ok(200, object{"sha": c.arg("sha"), "size": len(text), "encoding": "base64", "content": base64.StdEncoding.EncodeToString([]byte(text)),
		"node_id": "B_" + c.arg("sha"), "url": c.link("git/blobs", c.arg("sha"))})
}

func createBlob(c *call) reply {
	var in struct{ Content, Encoding string }
	if !c.decode(&in) {
		return fail(422, "Invalid request")
	}
	if out, bad := c.empty(); bad {
		return out
	}
	if in.Encoding == "base64" {
		raw, err := base64.StdEncoding.DecodeString(in.Content)
		if err != nil {
			return fail(422, "content is not valid Base64")
		}
		in.Content = string(raw)
	}
	sha, err := c.git.run(in.Content, nil, "hash-object", "-w", "--stdin")
	if err != nil {
		return fail(500, err.Error())
	}
	sha = strings.TrimSpace(sha)
	return ok(201, object{"sha": sha, "url": c.link("git/blobs", sha)})
}

// compare is GitHub's three-dot comparison: what head brings since the common ancestor.
func compare(c *call) reply {
	from, to, dots := strings.Cut(c.arg("basehead"), "...")
	base, head := c.git.resolve(from), c.git.resolve(to)
	if !dots || base == "" || head == "" {
		return fail(404, "Not Found")
	}
	root := c.git.mergeBase(base, head)
	if root == "" {
		return fail(404, "No common ancestor between "+from+" and "+to+".")
	}
	behind, ahead := c.git.count(base, head)
	status := "diverged"
	switch {
	case ahead == 0 && behind == 0:
		status = "identical"
	case behind == 0:
		status = "ahead"
	case ahead == 0:
		status = "behind"
	}
	files, err := c.git.diff(root, head)
	if err != nil {
		return fail(500, err.Error())
	}
	list := []object{}
	for _, f := range files[:min(len(files), 300)] {
		o := object{"sha": f.blob, "filename": f.path, "status": f.status, "additions": f.added, "deletions": f.removed, "changes": f.added + f.removed,
			"blob_url": c.pageOf("blob", head, f.path), "raw_url": c.pageOf("raw", head, f.path), "contents_url": c.link("contents", f.path) + "?ref=" + head}
		if f.from != "" {
			o["previous_filename"] = f.from
		}
		list = append(list, o)
	}
	rootCommit, _ := c.git.commit(root)
	baseCommit, _ := c.git.commit(base)
	page := c.pageOf("compare", from+"..."+to)
	return ok(200, object{"status": status, "ahead_by": ahead, "behind_by": behind, "total_commits": ahead, "commits": []object{}, "files": list,
		"base_commit": c.commitObject(baseCommit), "merge_base_commit": c.commitObject(rootCommit), "url": c.link("compare", from+"..."+to),
		"html_url": page, "permalink_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch"})
}

func getContents(c *call) reply {
	at := c.req.URL.Query().Get("ref")
	if at == "" {
		at = c.repo.Default
	}
	sha := c.git.resolve(at)
	if sha == "" {
		return fail(404, "No commit found for the ref "+at)
	}
	p := strings.Trim(c.arg("path"), "/")
	if p != "" {
		self, err := c.git.list(sha, p, false)
		if err != nil || len(self) != 1 {
			return fail(404, "Not Found")
		}
		if self[0].kind == "blob" {
			return c.fileObject(self[0])
		}
		p += "/"
	}
	entries, err := c.git.list(sha, p, false)
	if err != nil {
		return fail(404, "Not Found")
	}
	list := []object{}
	for _, e := range entries[:min(len(entries), 1000)] {
		list = append(list, c.entryObject(e))
	}
	return ok(200, list)
}

func (c *call) entryObject(e treeEntry) object {
	kind := map[string]string{"blob": "file", "tree": "dir", "commit": "submodule"}[e.kind]
	if e.mode == "120000" {
		kind = "symlink"
	}
	url, git, page := c.link("contents", e.path), c.link("git", e.kind+"s", e.sha), c.pageOf(e.kind, c.repo.Default, e.path)
	return object{"type": kind, "name": path.Base(e.path), "path": e.path, "sha": e.sha, "size": 0, "url": url, "git_url": git, "html_url": page,
		"download_url": nil, "_links": object{"self": url, "git": git, "html": page}}
}

func (c *call) fileObject(e treeEntry) reply {
	text, err := c.git.run("", nil, "cat-file", "blob", e.sha)
	if err != nil {
		return fail(404, "Not Found")
	}
	o := c.entryObject(e)
	o["size"], o["encoding"], o["content"] = len(text), "base64", base64.StdEncoding.EncodeToString([]byte(text))
	if len(text) > 1<<20 {
		o["encoding"], o["content"] = "none", ""
	}
	return ok(200, o)
}

func getRules(c *call) reply {
	list := []object{}
	for _, kind := range c.repo.Rules {
		list = append(list, c.rule(kind, nil))
	}
	if len(c.repo.Checks) > 0 {
		checks := []object{}
		for _, name := range c.repo.Checks {
			checks = append(checks, object{"context": name})
		}
		list = append(list, c.rule("required_status_checks", object{"required_status_checks": checks, "strict_required_status_checks_policy": false}))
	}
	if c.repo.Owners {
		list = append(list, c.rule("pull_request", object{"dismiss_stale_reviews_on_push": false, "require_code_owner_review": true,
			"require_last_push_approval": false, "required_approving_review_count": 1, "required_review_thread_resolution": false}))
	}
	return ok(200, list)
}

func (c *call) rule(kind string, parameters object) object {
	o := object{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.full(), "ruleset_id": 1}
	if parameters != nil {
		o["parameters"] = parameters
	}
	return o
}

func getBranch(c *call) reply {
	sha := c.git.head(c.arg("branch"))
	if sha == "" {
		return fail(404, "Branch not found")
	}
	k, _ := c.git.commit(sha)
	return ok(200, object{"name": c.arg("branch"), "protected": len(c.repo.Checks) > 0, "protection_url": c.link("branches", c.arg("branch"), "protection"),
		"commit": c.commitObject(k), "_links": object{"self": c.link("branches", c.arg("branch")), "html": c.pageOf("tree", c.arg("branch"))},
		"protection": object{"enabled": false, "required_status_checks": object{"enforcement_level": "off", "contexts": []string{}, "checks": []object{}}}})
}

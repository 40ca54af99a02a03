package fakegithub

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gitDir runs git's plumbing on one repository.
type gitDir struct {
	dir     string
	commits map[string]commit // objects never change
}

type commit struct {
	sha, tree, message string
	parents            []string
	author, mail       string
	when               time.Time
}

type refChange struct{ branch, old string }

type treeEntry struct{ mode, kind, sha, path string }

func newGit(dir string) gitDir { return gitDir{dir: dir, commits: map[string]commit{}} }

// gitError is what git said.
type gitError struct {
	args []string
	text string
}

// Error gives the command and git's own words.
func (e *gitError) Error() string { return "git " + strings.Join(e.args, " ") + ": " + e.text }

func (g gitDir) run(stdin string, env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append([]string{"GIT_DIR=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "LC_ALL=C",
		"HOME=" + g.dir, "PATH=" + os.Getenv("PATH"), "GIT_TERMINAL_PROMPT=0"}, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), &gitError{args, strings.TrimSpace(errs.String())}
	}
	return out.String(), err
}

func (g gitDir) text(args ...string) (string, error) {
	out, err := g.run("", nil, args...)
	return strings.TrimSpace(out), err
}

func initBare(dir string) error {
	g := newGit(dir)
	if _, err := g.run("", nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", dir); err != nil {
		return fmt.Errorf("fakegithub: %w", err)
	}
	tree, err := g.putFiles("", []treeEntry{{mode: "100644", path: "README.md"}}, []string{"# A repository\n"})
	if err != nil {
		return err
	}
	c, err := g.putCommit(commit{tree: tree, message: "first commit\n", author: "Someone", mail: "someone@example.com", when: time.Unix(1_700_000_000, 0)})
	if err != nil {
		return err
	}
	return g.moveRef("main", "", c)
}

// putFiles makes a tree: base with the entries put in. An entry whose text is "" and that has no sha is taken out.
func (g gitDir) putFiles(base string, entries []treeEntry, texts []string) (string, error) {
	tmp, err := os.MkdirTemp("", "fakegithub")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := g.putBlobs(tmp, entries, texts); err != nil {
		return "", err
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if base != "" {
		if _, err := g.run("", index, "read-tree", base); err != nil {
			return "", err
		}
	}
	var lines strings.Builder
	for _, e := range entries {
		if e.sha == "" {
			fmt.Fprintf(&lines, "0 %040d\t%s\x00", 0, e.path)
			continue
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", e.mode, e.sha, e.path)
	}
	if _, err := g.run(lines.String(), index, "update-index", "-z", "--replace", "--index-info"); err != nil {
		return "", err
	}
	out, err := g.run("", index, "write-tree")
	return strings.TrimSpace(out), err
}

// putBlobs writes the texts as blobs, all by one git, and fills in their ids.
func (g gitDir) putBlobs(tmp string, entries []treeEntry, texts []string) error {
	var names strings.Builder
	var which []int
	for i, text := range texts {
		if text == "" {
			continue
		}
		name := filepath.Join(tmp, strconv.Itoa(i))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
		names.WriteString(name + "\n")
		which = append(which, i)
	}
	if len(which) == 0 {
		return nil
	}
	out, err := g.run(names.String(), nil, "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	for n, sha := range strings.Fields(out) {
		entries[which[n]].sha = sha
	}
	return nil
}

func (g gitDir) putCommit(c commit) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	who := fmt.Sprintf("%s <%s> %d +0000", c.author, c.mail, c.when.Unix())
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", who, who, c.message)
	out, err := g.run(b.String(), nil, "hash-object", "-t", "commit", "-w", "--stdin")
	return strings.TrimSpace(out), err
}

// commit reads a commit; ok is false if there is none of that id.
func (g gitDir) commit(sha string) (commit, bool) {
	if c, ok := g.commits[sha]; ok {
		return c, true
	}
	if !isSHA(sha) {
		return commit{}, false
	}
	raw, err := g.run("", nil, "cat-file", "commit", sha)
	if err != nil {
		return commit{}, false
	}
	c := commit{sha: sha}
	head, message, _ := strings.Cut(raw, "\n\n")
	c.message = message
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			name, rest, _ := strings.Cut(value, " <")
			mail, when, _ := strings.Cut(rest, "> ")
			secs, _, _ := strings.Cut(when, " ")
			n, _ := strconv.ParseInt(secs, 10, 64)
			c.author, c.mail, c.when = name, mail, time.Unix(n, 0).UTC()
		}
	}
	g.commits[sha] = c
	return c, true
}

// head gives a branch's commit, or "". A loose ref is a file; only a packed one needs git.
func (g gitDir) head(branch string) string {
	if raw, err := os.ReadFile(filepath.Join(g.dir, "refs", "heads", filepath.FromSlash(branch))); err == nil && filepath.IsLocal(branch) {
		if sha := strings.TrimSpace(string(raw)); isSHA(sha) {
			return sha
		}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "packed-refs")); err != nil {
		return ""
	}
	sha, err := g.text("rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return sha
}

// resolve takes a branch or a commit id.
func (g gitDir) resolve(name string) string {
	if isSHA(name) {
		if _, ok := g.commit(name); ok {
			return name
		}
	}
	return g.head(name)
}

// moveRef sets a branch from old ("" = it must not exist) to sha ("" = delete it). git compares and sets.
func (g gitDir) moveRef(branch, old, sha string) error {
	ref := "refs/heads/" + branch
	line := "update " + ref + "\x00" + sha + "\x00" + old + "\x00"
	switch {
	case old == "":
		line = "create " + ref + "\x00" + sha + "\x00"
	case sha == "":
		line = "delete " + ref + "\x00" + old + "\x00"
	}
	_, err := g.run(line, nil, "update-ref", "-z", "--stdin")
	return err
}

func (g gitDir) branches() (map[string]string, error) {
	out, err := g.run("", nil, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(out) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = sha
	}
	return all, nil
}

func (g gitDir) isAncestor(a, b string) bool {
	_, err := g.run("", nil, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

func (g gitDir) mergeBase(a, b string) string {
	sha, err := g.text("merge-base", a, b)
	if err != nil {
		return ""
	}
	return sha
}

// count gives how many commits each side has that the other lacks.
func (g gitDir) count(base, head string) (behind, ahead int) {
	out, err := g.text("rev-list", "--left-right", "--count", base+"..."+head)
	if err == nil {
		_, _ = fmt.Sscan(out, &behind, &ahead)
	}
	return behind, ahead
}

// list gives the entries of a tree-ish at a path ("" = its root).
func (g gitDir) list(treeish, path string, recursive bool) ([]treeEntry, error) {
	args := []string{"ls-tree", "-z"}
	if recursive {
		args = append(args, "-r", "-t")
	}
	args = append(args, treeish)
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := g.run("", nil, args...)
	if err != nil {
		return nil, err
	}
	var entries []treeEntry
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			entries = append(entries, treeEntry{mode: f[0], kind: f[1], sha: f[2], path: name})
		}
	}
	return entries, nil
}

type diffFile struct {
	status, blob, path, from string
	added, removed           int
}

// diff gives the changed files between two commits, with renames found.
func (g gitDir) diff(from, to string) ([]diffFile, error) {
	out, err := g.run("", nil, "diff-tree", "-r", "-M", "--raw", "--numstat", "--no-abbrev", "-z", from, to)
	if err != nil {
		return nil, err
	}
	var files []diffFile
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i, counted := 0, 0; i+1 < len(parts) || i < len(parts) && parts[i] != ""; i++ {
		if !strings.HasPrefix(parts[i], ":") {
			f := strings.SplitN(parts[i], "\t", 3)
			if len(f) != 3 || counted >= len(files) {
				return nil, fmt.Errorf("fakegithub: diff-tree said %q", parts[i])
			}
			files[counted].added, _ = strconv.Atoi(f[0]) // "-" for a binary file
			files[counted].removed, _ = strconv.Atoi(f[1])
			if counted++; f[2] == "" {
				i += 2 // a rename's two names follow
			}
			continue
		}
		d, used, err := rawLine(parts[i:])
		if err != nil {
			return nil, err
		}
		files = append(files, d)
		i += used
	}
	return files, nil
}

// rawLine reads one entry of diff-tree --raw -z; used is how many names follow it.
func rawLine(parts []string) (d diffFile, used int, err error) {
	words := map[byte]string{'A': "added", 'M': "modified", 'D': "removed", 'R': "renamed", 'T': "changed", 'C': "copied"}
	f := strings.Fields(parts[0])
	if len(f) < 5 || len(parts) < 2 {
		return d, 0, fmt.Errorf("fakegithub: diff-tree said %q", parts[0])
	}
	d, used = diffFile{status: words[f[4][0]], blob: f[3], path: parts[1]}, 1
	if d.status == "removed" {
		d.blob = f[2]
	}
	if (d.status == "renamed" || d.status == "copied") && len(parts) > 2 {
		d.from, d.path, used = parts[1], parts[2], 2
	}
	return d, used, nil
}

func (g gitDir) patch(from, to string) string {
	out, err := g.run("", nil, "diff", "--no-color", "--no-ext-diff", from, to)
	if err != nil {
		return err.Error()
	}
	return out
}

func isSHA(s string) bool {
	if len(s) != 40 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

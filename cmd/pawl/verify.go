package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/rule"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ratchet/regcase"
	"github.com/pawl-dev/pawl/ratchet/verify"
	"github.com/pawl-dev/pawl/ratchet/verify/gitfs"
)

// verifyFlags are what the caller asked for.
type verifyFlags struct {
	base, head, format string
	sets               []string
	noWaivers          bool
}

func verifyCommand(a *app) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify --base REF",
		Short: "let no change delete or loosen a case without a stated reason",
		Long: "Compares the set of cases and pawl.yaml with those of a base commit, read from git's objects. Every case of base must be there and at least as\n" +
			"strict, field by field; this pawl must still see every recorded failure. What is looser is told with its field and both values. The way back is a\n" +
			"waiver: pawl waive.\n\n" +
			"Give it the tip of the branch that is merged into, in a checkout of the merge result.\n\n" +
			"Exit code 1: something is looser; 3: not decided (the base is not at hand, is what it is compared with, or there is no set).",
		Example: "  pawl verify --base origin/main\n  pawl verify --base origin/main --format github     # in a workflow: fetch-depth: 0\n  pawl verify --base v1.4.0 --head HEAD --set regressions --json",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.base, "base", "", "the commit, branch or tag `REF` that must not be loosened")
	flags.StringVar(&f.head, "head", "", "compare this commit `REF` (default: the work tree)")
	flags.StringArrayVar(&f.sets, "set", nil, "directory `DIR` of a set (default: those of targets in pawl.yaml, and regressions)")
	flags.StringVar(&f.format, "format", "text", "text, or github for annotations of a workflow")
	flags.BoolVar(&f.noWaivers, "no-waivers", false, "let no waiver count")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case f.base == "":
			return usageError(errors.New("--base is missing: the commit to hold the set to"), "pawl verify --base origin/main")
		case f.format != "text" && f.format != "github":
			return usageError(fmt.Errorf("--format %q is none of text, github", f.format), cmd.CommandPath()+" --help")
		}
		return a.verify(cmd.Context(), f)
	}
	return cmd
}

func (a *app) verify(ctx context.Context, f verifyFlags) error {
	repo, err := gitfs.Open(ctx, ".")
	if err != nil {
		return usageError(err, "")
	}
	s, err := openSides(ctx, repo, f)
	if err != nil {
		return err
	}
	defer s.close()
	base, head, err := a.versions(repo, s, f)
	if err != nil {
		return err
	}
	r, err := a.compareVersions(base, head, s)
	if err != nil {
		return err
	}
	if err := a.printVerified(r, f); err != nil {
		return err
	}
	if len(r.Open(f.noWaivers)) > 0 {
		return errFinding
	}
	return nil
}

// sides are the two trees that are compared. Of a head that is a commit, work is nil.
type sides struct {
	base, head         fs.FS
	work               *gitfs.Worktree
	committed          fs.FS  // what HEAD holds, beside the work tree
	baseID, headID     string // headID is that of HEAD where the head is the work tree
	baseName, headName string
	prefix             string // the directory that files named by pawl.yaml are looked for in
	behind             bool   // head does not hold all of base's commits
	closers            []func() error
}

func (s *sides) close() {
	for _, c := range s.closers {
		_ = c()
	}
}

// undecided ends verify without a verdict.
func undecided(try, format string, args ...any) error {
	return &exitError{exitUndecided, fmt.Errorf(format, args...), try}
}

func openSides(ctx context.Context, repo *gitfs.Repo, f verifyFlags) (*sides, error) {
	s := &sides{baseName: f.base, headName: f.head}
	var err error
	if s.baseID, err = repo.Commit(ctx, f.base); err != nil {
		return nil, undecided("", "--base: %w", err)
	}
	if s.headID, err = repo.Commit(ctx, cmpOr(f.head, "HEAD")); err != nil {
		return nil, undecided("", "--head: %w", err)
	}
	s.behind = !repo.Contains(ctx, s.headID, s.baseID)
	base, err := repo.Tree(ctx, s.baseID)
	if err != nil {
		return nil, undecided("", "%w", err)
	}
	s.base, s.closers = base, append(s.closers, base.Close)
	if f.head != "" {
		head, err := repo.Tree(ctx, s.headID)
		if err != nil {
			s.close()
			return nil, undecided("", "%w", err)
		}
		s.head, s.closers = head, append(s.closers, head.Close)
		return s, nil
	}
	if s.work, err = repo.Worktree(ctx); err != nil {
		s.close()
		return nil, undecided("", "%w", err)
	}
	s.head, s.headName, s.closers = s.work, "the work tree", append(s.closers, s.work.Close)
	committed, err := repo.Tree(ctx, s.headID)
	if err != nil {
		s.close()
		return nil, undecided("", "%w", err)
	}
	s.committed, s.closers = committed, append(s.closers, committed.Close)
	return s, nil
}

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// inRepo is a path as the repository names it, with forward slashes.
func inRepo(repo *gitfs.Repo, path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(real, filepath.Base(abs))
	}
	rel, err := filepath.Rel(repo.Top(), abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the repository at %s", path, repo.Top())
	}
	return filepath.ToSlash(rel), nil
}

// versions reads both sides.
func (a *app) versions(repo *gitfs.Repo, s *sides, f verifyFlags) (base, head verify.Version, err error) {
	file, err := inRepo(repo, a.file())
	if err != nil {
		return base, head, usageError(err, "")
	}
	if s.prefix, err = inRepo(repo, "."); err != nil {
		return base, head, usageError(err, "")
	}
	if base.Config, err = readVersionConfig(s.base, file, s.prefix); err != nil {
		return base, head, undecided("", "of %s: %w", s.baseName, err)
	}
	if head.Config, err = readVersionConfig(s.head, file, s.prefix); err != nil {
		return base, head, usageError(err, "pawl config check")
	}
	dirs, err := setDirs(repo, s, f, base.Config, head.Config)
	if err != nil {
		return base, head, err
	}
	base.Sets, head.Sets = map[string]*verify.Set{}, map[string]*verify.Set{}
	for _, dir := range dirs {
		if base.Sets[dir] = verify.ReadSet(s.base, dir); base.Sets[dir].Barred() {
			return base, head, undecided("", "of %s: %s: %s", s.baseName, dir, base.Sets[dir].Problems[0].Text)
		}
		head.Sets[dir] = verify.ReadSet(s.head, dir)
		if err := s.look(head.Sets[dir]); err != nil {
			return base, head, err
		}
	}
	return base, head, nil
}

// dirty says that the work tree is not what would be merged: HEAD holds other cases, or another pawl.yaml.
func (s *sides) dirty(head verify.Version) bool {
	if s.committed == nil {
		return false
	}
	cfg, err := readVersionConfig(s.committed, head.Config.Path, s.prefix)
	if err != nil {
		return true
	}
	at := verify.Version{Config: cfg, Sets: map[string]*verify.Set{}}
	for dir := range head.Sets {
		at.Sets[dir] = verify.ReadSet(s.committed, dir)
	}
	return !at.Same(head)
}

// look adds what git knows of the work tree and the files alone do not tell.
func (s *sides) look(set *verify.Set) error {
	if s.work == nil {
		return nil
	}
	if out := s.work.Unseen(set.Dir); len(out) > 0 {
		return undecided("git sparse-checkout disable, git update-index --no-skip-worktree --no-assume-unchanged FILE, or --head HEAD",
			"git was told not to look at %d files of %s, such as %s: what lies there says nothing of what would be committed", len(out), set.Dir, out[0])
	}
	if sub := s.work.Submodule(set.Dir); sub != "" {
		set.Bar(sub + " is a submodule: what another repository holds is not part of this change")
	}
	for dir, e := range set.Cases {
		e.Untracked = !s.work.Tracked(set.Dir + "/" + dir + "/case.yaml")
	}
	return nil
}

// readVersionConfig reads the pawl.yaml of one side, and the files of tools that it names; none is the defaults.
func readVersionConfig(tree fs.FS, file, prefix string) (verify.Config, error) {
	c := verify.Config{Path: file, Severities: map[string]string{}}
	for _, r := range rule.All() {
		c.Severities[string(r.Label)] = string(r.Severity)
	}
	var cfg config.Config
	for _, name := range []string{file, verify.WaiversOf(file)} {
		if why := verify.Twin(tree, name); why != "" {
			return c, errors.New(why)
		}
	}
	text, err := fs.ReadFile(tree, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Absent, text = true, nil
	case err != nil:
		return c, err
	case text == nil:
		text = []byte{}
	}
	if cfg, err = config.ParseTree(tree, file, text); err != nil {
		return c, err
	}
	if c.Values, err = cfg.JSON(); err != nil {
		return c, err
	}
	if err := readNamed(tree, prefix, cfg, &c); err != nil {
		return c, err
	}
	c.Waivers, err = verify.ReadWaivers(tree, verify.WaiversOf(file))
	return c, err
}

// readNamed reads the files of tools that a configuration names. One that is not in the repository is not part of the change.
func readNamed(tree fs.FS, prefix string, cfg config.Config, c *verify.Config) error {
	read := func(name string) ([]byte, error) {
		if in := path.Join(prefix, filepath.ToSlash(name)); fs.ValidPath(in) && !filepath.IsAbs(name) {
			return fs.ReadFile(tree, in)
		}
		return nil, fs.ErrNotExist
	}
	c.Files = map[string]string{}
	for _, t := range cfg.Tools {
		if t.SchemaFile == "" {
			continue
		}
		switch b, err := read(t.SchemaFile); {
		case err == nil:
			c.Files[t.SchemaFile] = regcase.SHA256(b)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if cfg.ToolsFile == "" {
		return nil
	}
	b, err := read(cfg.ToolsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	tools, err := catalog.Read(b)
	if err != nil {
		return fmt.Errorf("%s: %w", cfg.ToolsFile, err)
	}
	c.Pinned, err = pinnedJSON(tools)
	return err
}

// pinnedJSON is what of pinned tools decides what a rule sees: no titles and descriptions.
func pinnedJSON(tools []catalog.Tool) ([]byte, error) {
	type tool struct {
		Name         string              `json:"name"`
		Schema       jsontext.Value      `json:"schema"`
		OutputSchema jsontext.Value      `json:"output_schema"`
		Annotations  catalog.Annotations `json:"annotations"`
		Effect       catalog.Effect      `json:"effect"`
		Idempotent   bool                `json:"idempotent"`
		Execution    map[string]any      `json:"execution"`
	}
	var out []tool
	for _, t := range tools {
		out = append(out, tool{t.Name, t.Schema, t.OutputSchema, t.Annotations, t.Effect, t.Idempotent, t.Execution})
	}
	return json.Marshal(out)
}

// setDirs are the directories to compare: those asked for, else the default one, and in any case those that base's configuration leads to and that
// are there.
func setDirs(repo *gitfs.Repo, s *sides, f verifyFlags, base, head verify.Config) ([]string, error) {
	asked := map[string]bool{}
	for _, dir := range f.sets {
		rel, err := inRepo(repo, dir)
		if err != nil {
			return nil, usageError(err, "")
		}
		asked[rel] = true
	}
	if len(f.sets) == 0 {
		if rel, err := inRepo(repo, "regressions"); err == nil {
			asked[rel] = true
		}
		for _, dir := range head.Sets() {
			asked[dir] = true
		}
	}
	for _, dir := range base.Sets() {
		asked[dir] = true
	}
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(asked)) {
		if there(s.base, dir) || there(s.head, dir) {
			found = append(found, dir)
		}
	}
	if len(found) == 0 {
		return nil, undecided("--set DIR", "neither %s nor %s holds a set of cases at %s", s.baseName, s.headName, strings.Join(slices.Sorted(maps.Keys(asked)), ", "))
	}
	return found, nil
}

func there(tree fs.FS, dir string) bool {
	_, err := fs.Lstat(tree, dir)
	return err == nil
}

func (a *app) compareVersions(base, head verify.Version, s *sides) (*verify.Report, error) {
	if s.baseID == s.headID && base.Same(head) {
		return nil, undecided("--base with the branch that is merged into, such as origin/main",
			"%s is the commit that it is compared with (%.12s): a set is never looser than itself", s.baseName, s.baseID)
	}
	dirty := s.dirty(head)
	if dirty && os.Getenv("CI") != "" && os.Getenv("CI") != "false" {
		return nil, undecided("--head HEAD", "the work tree holds other cases, or another pawl.yaml, than the commit that is checked out: something changed them before, and what would be merged is the commit")
	}
	cfg, err := a.loadOffline()
	if err != nil {
		return nil, err
	}
	judge, err := a.oracleOf(cfg)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, set := range head.Sets {
		n += len(set.Cases)
	}
	bar := a.progress(n, "judging the recordings")
	r, err := verify.Check(base, head, verify.Options{Now: a.now(), Oracle: judge, Step: func() { _ = bar.Add(1) }})
	if err != nil {
		return nil, undecided("", "%w", err)
	}
	if dirty {
		r.Notes = append(r.Notes, verify.Note{Text: "the work tree was compared, and the commit that is checked out holds something else: what would be merged is the commit (--head HEAD)"})
	}
	if s.behind {
		r.Notes = append(r.Notes, verify.Note{Text: fmt.Sprintf("%s has commits that %s does not hold: what they added looks deleted or loosened here. Merge it first, or verify the merge result", s.baseName, s.headName)})
	}
	return r, nil
}

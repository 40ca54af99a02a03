package gitfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func repo(t *testing.T, files map[string]string) (*Repo, func(args ...string)) {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	run("config", "core.autocrlf", "false")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	run("add", "-A")
	run("commit", "-q", "-m", "x")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, run
}

func files() map[string]string {
	return map[string]string{"a.txt": "a\n", "dir/b.txt": "b\r\n", "dir/deep/c.txt": "", "dir/deep/ü d.txt": strings.Repeat("x", 1<<16), "empty.txt": ""}
}

// TestTreeIsAFileSystem holds a commit to what io/fs asks of a file system.
func TestTreeIsAFileSystem(t *testing.T) {
	r, _ := repo(t, files())
	id, err := r.Commit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := r.Tree(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if info, err := whole.Lstat("link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}
	if _, err := whole.Open("link"); err == nil {
		t.Error("the link was opened")
	}
	part, err := r.Tree(t.Context(), id, "dir")
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	if err := fstest.TestFS(part, "dir/b.txt", "dir/deep/c.txt", "dir/deep/ü d.txt"); err != nil {
		t.Error(err)
	}
	for name, want := range files() {
		got, err := fs.ReadFile(whole, name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := fs.ReadFile(part, "a.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file beside the paths asked for: %v", err)
	}
}

func TestCommitRefuses(t *testing.T) {
	r, run := repo(t, files())
	for _, name := range []string{"", "-x", "main:a.txt", "a b", "nowhere", "main\n"} {
		if id, err := r.Commit(t.Context(), name); err == nil {
			t.Errorf("%q is %s", name, id)
		}
	}
	run("tag", "main")
	if _, err := r.Commit(t.Context(), "main"); err != nil {
		t.Errorf("a tag and a branch that agree: %v", err)
	}
	run("commit", "-q", "--allow-empty", "-m", "y")
	if _, err := r.Commit(t.Context(), "main"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("a tag and a branch that differ: %v", err)
	}
	if _, err := Open(t.Context(), t.TempDir()); !errors.Is(err, ErrNoRepo) {
		t.Errorf("no repository: %v", err)
	}
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), t.TempDir()); !errors.Is(err, exec.ErrNotFound) || errors.Is(err, ErrNoRepo) {
		t.Errorf("no git: %v", err)
	}
}

func TestWorktree(t *testing.T) {
	r, run := repo(t, files())
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(r.Top(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "a\r\n")
	write("new.txt", "n\r\n")
	run("update-index", "--skip-worktree", "empty.txt")
	w, err := r.Worktree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for name, want := range map[string]string{"a.txt": "a\n", "dir/b.txt": "b\r\n", "new.txt": "n\r\n"} {
		if got, err := fs.ReadFile(w, name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := w.Open("link"); err == nil {
		t.Error("the link was opened")
	}
	if !w.Tracked("a.txt") || w.Tracked("new.txt") {
		t.Error("what git tracks")
	}
	if out := w.Unseen("."); len(out) != 1 || out[0] != "empty.txt" {
		t.Errorf("unseen: %v", out)
	}
	if sub := w.Submodule("dir"); sub != "" {
		t.Errorf("submodule %s", sub)
	}
}

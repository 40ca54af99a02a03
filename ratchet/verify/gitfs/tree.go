package gitfs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" // of git's choosing
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBlob bounds one file, in bytes.
const maxBlob = 32 << 20

// Tree is one commit as a file system. Links and submodules are entries of type fs.ModeSymlink and fs.ModeIrregular; they can be seen and not opened. It
// is safe for concurrent use and holds a git process until it is closed.
type Tree struct {
	nodes map[string]*node

	mu    sync.Mutex
	batch *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
}

type node struct {
	name     string
	mode     fs.FileMode
	id       string // of the blob
	size     int64
	children []string // names, sorted
}

// Tree reads the tree of a commit, given by its id. Paths, where given, are the only ones that it holds.
func (r *Repo) Tree(ctx context.Context, commit string, paths ...string) (*Tree, error) {
	args := append([]string{"ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit, "--"}, paths...)
	list, err := git(ctx, r.top, args...)
	if err != nil {
		return nil, fmt.Errorf("reading commit %.12s: %w", commit, err)
	}
	t := &Tree{nodes: map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o755}}}
	var trees []string
	for line := range bytes.SplitSeq(list, []byte{0}) {
		if len(line) == 0 {
			continue
		}
		id, err := t.add(string(line))
		if err != nil {
			return nil, fmt.Errorf("reading commit %.12s: %w", commit, err)
		}
		if id != "" {
			trees = append(trees, id)
		}
	}
	for _, n := range t.nodes {
		slices.Sort(n.children)
	}
	if err := t.start(ctx, r.top); err != nil {
		return nil, err
	}
	if err := t.proven(commit, trees); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("reading commit %.12s: %w", commit, err)
	}
	return t, nil
}

// proven says that the commit, and every directory of it that was listed, hold what their names say.
func (t *Tree) proven(commit string, trees []string) error {
	body, err := t.object(commit, "commit")
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(body, []byte{'\n'})
	root, ok := strings.CutPrefix(string(line), "tree ")
	if !ok {
		return fmt.Errorf("commit %.12s names no tree", commit)
	}
	for _, id := range append(trees, root) {
		if _, err := t.object(id, "tree"); err != nil {
			return err
		}
	}
	return nil
}

// add takes one line of ls-tree: mode, type, id and size, a tab, the path. Of a directory it returns the id: its files have lines of their own.
func (t *Tree) add(line string) (tree string, err error) {
	meta, name, ok := strings.Cut(line, "\t")
	f := strings.Fields(meta)
	if !ok || len(f) != 4 {
		return "", fmt.Errorf("unexpected line %q", line)
	}
	if f[1] == "tree" {
		return f[2], nil
	}
	if !fs.ValidPath(name) {
		return "", nil // not text: nothing that a set or pawl.yaml could be
	}
	n := &node{name: path.Base(name), id: f[2], mode: modes[f[0]]}
	if _, known := modes[f[0]]; !known {
		return "", fmt.Errorf("%s has the unknown mode %s", name, f[0])
	}
	n.size, _ = strconv.ParseInt(f[3], 10, 64) // a submodule has none
	t.nodes[name] = n
	t.hang(name)
	return "", nil
}

var modes = map[string]fs.FileMode{"100644": 0o644, "100755": 0o755, "100664": 0o644, "120000": fs.ModeSymlink | 0o777, "160000": fs.ModeIrregular}

// hang enters a path into its directories.
func (t *Tree) hang(name string) {
	for name != "." {
		dir := path.Dir(name)
		parent, known := t.nodes[dir]
		if !known {
			parent = &node{name: path.Base(dir), mode: fs.ModeDir | 0o755}
			t.nodes[dir] = parent
		}
		parent.children = append(parent.children, path.Base(name))
		if known {
			return
		}
		name = dir
	}
}

func (t *Tree) start(ctx context.Context, dir string) error {
	t.batch = command(ctx, dir, "cat-file", "--batch")
	var err error
	if t.in, err = t.batch.StdinPipe(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	out, err := t.batch.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	t.out = bufio.NewReader(out)
	if err := t.batch.Start(); err != nil {
		return fmt.Errorf("git cat-file: %w", err)
	}
	return nil
}

// Close ends the git process.
func (t *Tree) Close() error {
	_ = t.in.Close()
	return t.batch.Wait()
}

// blob reads one file by its id.
func (t *Tree) blob(id string) ([]byte, error) { return t.object(id, "blob") }

// object reads one object of a kind by its id.
func (t *Tree) object(id, kind string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := io.WriteString(t.in, id+"\n"); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	head, err := t.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	f := strings.Fields(head)
	if len(f) != 3 || f[1] != kind {
		return nil, fmt.Errorf("object %.12s is not here (a partial clone?): %s", id, strings.TrimSpace(head))
	}
	n, err := strconv.Atoi(f[2])
	if err != nil || n > maxBlob {
		return nil, fmt.Errorf("object %.12s of %s bytes is larger than %d MiB", id, f[2], maxBlob>>20)
	}
	body := make([]byte, n+1)
	if _, err := io.ReadFull(t.out, body); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if !is(id, kind, body[:n]) {
		return nil, fmt.Errorf("object %.12s does not hold what its name says: the repository is damaged, git fsck tells more", id)
	}
	return body[:n], nil
}

// is says that an object has this id: git itself takes a loose object's word for it.
func is(id, kind string, body []byte) bool {
	h := sha1.New()
	if len(id) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(body))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil)) == id
}

// Open opens a file or a directory, never a link or a submodule.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.node("open", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return &dir{info: info{n}, entries: t.entries(name, n)}, nil
	}
	if !n.mode.IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("is a link or a submodule, not a file")}
	}
	if n.size > maxBlob {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("is larger than %d MiB", maxBlob>>20)}
	}
	b, err := t.blob(n.id)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &file{info: info{n}, Reader: bytes.NewReader(b)}, nil
}

// Lstat describes an entry, itself and not what it leads to.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.node("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{n}, nil
}

// ReadLink refuses: links are not followed, and where they lead is nobody's business here.
func (t *Tree) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: errors.ErrUnsupported}
}

func (t *Tree) node(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n, ok := t.nodes[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (t *Tree) entries(name string, n *node) []fs.DirEntry {
	var out []fs.DirEntry
	for _, c := range n.children {
		out = append(out, fs.FileInfoToDirEntry(info{t.nodes[path.Join(name, c)]}))
	}
	return out
}

type info struct{ n *node }

func (i info) Name() string       { return i.n.name }
func (i info) Size() int64        { return i.n.size }
func (i info) Mode() fs.FileMode  { return i.n.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.n.mode.IsDir() }
func (i info) Sys() any           { return nil }

type file struct {
	info
	*bytes.Reader
}

func (f *file) Size() int64                { return f.info.Size() }
func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type dir struct {
	info
	entries []fs.DirEntry
}

func (d *dir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dir) Close() error               { return nil }
func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.n.name, Err: errors.New("is a directory")}
}

// ReadDir gives the next entries, by name.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	out := d.entries[:n]
	d.entries = d.entries[n:]
	return out, nil
}

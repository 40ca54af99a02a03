package gitfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Worktree is the checked-out files, beside what git knows of them. A file that a checkout has given CR LF line ends is read as it was committed.
type Worktree struct {
	root  *os.Root
	index map[string]entry
	blobs *Tree
}

type entry struct {
	mode fs.FileMode
	id   string
	out  bool // of the sparse checkout, or told to git to be looked away from: what lies on disk says nothing of what would be committed
}

// Worktree opens the work tree. Close it after use.
func (r *Repo) Worktree(ctx context.Context) (*Worktree, error) {
	w := &Worktree{index: map[string]entry{}, blobs: &Tree{nodes: map[string]*node{}}}
	if err := w.readIndex(ctx, r.top); err != nil {
		return nil, err
	}
	var err error
	if w.root, err = os.OpenRoot(r.top); err != nil {
		return nil, fmt.Errorf("reading the work tree: %w", err)
	}
	if err := w.blobs.start(ctx, r.top); err != nil {
		return nil, errors.Join(err, w.root.Close())
	}
	return w, nil
}

// readIndex notes of every tracked file its mode, id and whether git was told not to look at it. Lines are: tag, mode, id and stage, a tab, the path.
func (w *Worktree) readIndex(ctx context.Context, top string) error {
	list, err := git(ctx, top, "ls-files", "-z", "-s", "-v")
	if err != nil {
		return fmt.Errorf("reading the index: %w", err)
	}
	for line := range bytes.SplitSeq(list, []byte{0}) {
		meta, name, ok := strings.Cut(string(line), "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 4 {
			continue
		}
		w.index[name] = entry{mode: modes[f[1]], id: f[2], out: f[0] == "S" || f[0] == strings.ToLower(f[0])}
	}
	return nil
}

// Close frees what Worktree holds.
func (w *Worktree) Close() error { return errors.Join(w.blobs.Close(), w.root.Close()) }

// Open opens a plain file or a directory of the work tree. No link is followed, not even inside, and no pipe or device is opened.
func (w *Worktree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if found, err := w.root.Lstat(dir); err != nil || !found.IsDir() {
			return nil, cmp.Or(err, notPlain(dir))
		}
	}
	found, err := w.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case found.IsDir():
		return w.root.Open(name)
	case !found.Mode().IsRegular():
		return nil, notPlain(name)
	case found.Size() > maxBlob:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("is larger than %d MiB", maxBlob>>20)}
	}
	b, err := w.root.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b = w.committed(name, b)
	return &file{info: info{&node{name: path.Base(name), mode: found.Mode(), size: int64(len(b))}}, Reader: bytes.NewReader(b)}, nil
}

func notPlain(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: errors.New("is a link or a special file")}
}

// committed is a file without what a checkout has done to its line ends.
func (w *Worktree) committed(name string, b []byte) []byte {
	e, tracked := w.index[name]
	if !tracked || !bytes.Contains(b, []byte("\r\n")) {
		return b
	}
	blob, err := w.blobs.blob(e.id)
	if err != nil || !bytes.Equal(blob, bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))) {
		return b
	}
	return blob
}

// Lstat describes an entry, itself and not what it leads to.
func (w *Worktree) Lstat(name string) (fs.FileInfo, error) { return w.root.Lstat(name) }

// ReadLink refuses: links are not followed.
func (w *Worktree) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: errors.ErrUnsupported}
}

// Submodule names the submodule that a directory is, lies in or holds; "" if there is none.
func (w *Worktree) Submodule(dir string) string {
	for name := dir; name != "."; name = path.Dir(name) {
		if w.index[name].mode == fs.ModeIrregular {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.index)) {
		if w.index[name].mode == fs.ModeIrregular && strings.HasPrefix(name, dir+"/") {
			return name
		}
	}
	return ""
}

// Tracked says whether a commit of the index would hold the path.
func (w *Worktree) Tracked(name string) bool { _, ok := w.index[name]; return ok }

// Unseen lists the tracked files below a directory that git was told not to look at: left out by a sparse checkout, skip-worktree, assume-unchanged.
func (w *Worktree) Unseen(dir string) []string {
	var out []string
	for name, e := range w.index {
		if e.out && (dir == "." || name == dir || strings.HasPrefix(name, dir+"/")) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

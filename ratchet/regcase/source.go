package regcase

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// ErrNotFile says that a name in a set is a link, a device, a pipe or anything else but a plain file or directory of its own. It is never followed.
var ErrNotFile = errors.New("not a plain file")

// Checkout is a set in a working tree that nobody has reason to trust. No link is followed, not even inside the set, and opening a pipe or a
// device neither waits nor reads. It serves ReadSet, as a tree of git's objects does.
func Checkout(root *os.Root) fs.ReadDirFS { return checkout{root} }

type checkout struct{ root *os.Root }

// Open opens a plain file or a directory. The name is looked at before and after, so that one swapped in between is not read.
func (c checkout) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if err := c.plain(path.Dir(name)); err != nil {
		return nil, err
	}
	before, err := c.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() && !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: it is %s", ErrNotFile, kindOf(before.Mode()))}
	}
	f, err := c.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: it was replaced while it was opened", ErrNotFile)}
	}
	return f, nil
}

// plain says that no part of a directory's path is a link.
func (c checkout) plain(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := c.root.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w: it is %s, not a directory", ErrNotFile, kindOf(info.Mode()))}
		}
	}
	return nil
}

// ReadDir lists a directory that is no link.
func (c checkout) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: ErrNotFile}
	}
	return dir.ReadDir(-1)
}

// kindOf names what a file is, for people.
func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeIrregular != 0:
		return "another repository (a submodule)"
	case !m.IsRegular():
		return "no plain file"
	}
	return "a file"
}

// readFile reads a plain file of at most limit bytes.
func readFile(src fs.FS, name string, limit int64) ([]byte, error) {
	f, err := src.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w: it is %s", name, ErrNotFile, kindOf(info.Mode()))
	case info.Size() > limit:
		return nil, tooLarge(name, limit)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1)) // a file may grow while it is read
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, tooLarge(name, limit)
	}
	return b, nil
}

func tooLarge(name string, limit int64) error {
	return fmt.Errorf("%s: %w: it is larger than %d MiB", name, ErrTooLarge, limit>>20)
}

//go:build unix

package queue

import (
	"os"
	"syscall"
)

// lockFile takes the kernel's exclusive lock of f, which ends with its descriptor, also by kill -9.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

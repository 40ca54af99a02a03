//go:build linux || darwin || freebsd

package main

import (
	"fmt"
	"syscall"
)

// freeBytes is what an ordinary user may still write on the disk under dir.
func freeBytes(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return uint64(max(st.Bavail, 0)) * uint64(st.Bsize), nil
}

// alive says whether a process of that number runs.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

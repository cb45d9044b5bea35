//go:build linux || darwin

package sqlite

import "syscall"

// freeSpace returns how many bytes this process may still write to the disk of a directory; false if
// that is not known.
func freeSpace(dir string) (bytes int64, known bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true
}

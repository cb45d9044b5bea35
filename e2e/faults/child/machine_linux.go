package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// shrinkDisk makes the disk as small as the options say, or read-only. Its mounts are in the
// process's own mount namespace and end with the process.
func shrinkDisk(o *options) error {
	switch {
	case o.tmpfs > 0:
		if err := keepMountsInside(); err != nil {
			return err
		}
		return mountTmpfs(o, 0)
	case o.readOnly:
		return mountReadOnly(o.dir)
	case o.fileLimit > 0:
		return limitFiles(o.fileLimit)
	}
	return nil
}

// growDisk makes room.
func growDisk(o *options) error {
	switch {
	case o.tmpfs > 0:
		o.tmpfs *= 64
		return mountTmpfs(o, syscall.MS_REMOUNT)
	case o.readOnly:
		return syscall.Mount("", o.dir, "", syscall.MS_BIND|syscall.MS_REMOUNT, "")
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		return err
	}
	return limitFiles(now.Max)
}

// keepMountsInside keeps later mounts out of other mount namespaces.
func keepMountsInside() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount /: %w", err)
	}
	return nil
}

func mountReadOnly(dir string) error {
	if err := keepMountsInside(); err != nil {
		return err
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s on itself: %w", dir, err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount %s read-only: %w", dir, err)
	}
	return nil
}

func mountTmpfs(o *options, flags uintptr) error {
	if err := syscall.Mount("spool", o.dir, "tmpfs", flags, fmt.Sprintf("size=%dm,mode=700", o.tmpfs)); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", o.dir, err)
	}
	return nil
}

func limitFiles(bytes uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = bytes
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// peakKiB returns the peak resident memory of the process, including pages of files.
func peakKiB() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

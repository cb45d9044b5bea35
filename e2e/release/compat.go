package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"
)

// comparison runs gorelease in copies of the public modules. All versions of them come from a proxy.
type comparison struct {
	*repo
	proxy   folder
	copies  string
	env     []string
	version string
}

// compare loads each package of the public modules as a program that requires version does, and compares
// the exported API with the module's last tag, if there is one. From v1 on an incompatible change is an error.
func (r *repo) compare(ctx context.Context, version string, out io.Writer) error {
	if said, err := output(ctx, r.dir, "make", "gorelease"); err != nil {
		return fmt.Errorf("%w%s", err, said)
	}
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := comparison{repo: r, proxy: folder(filepath.Join(dir, "proxy")), copies: filepath.Join(dir, "copies"), version: version}
	if err := c.addTree(ctx); err != nil {
		return err
	}
	list, stop, err := c.proxy.proxies(ctx, r.modules[0].path())
	if err != nil {
		return err
	}
	defer stop()
	c.env = append(os.Environ(), "GOPROXY="+list, "GOMODCACHE="+filepath.Join(dir, "modules"),
		"GOWORK=off", "GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GOFLAGS=-modcacherw")
	bases, err := c.bases(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, m := range r.public() {
		report, err := c.of(ctx, m, bases[m.path()])
		_, _ = fmt.Fprintf(out, "== %s\n%s\n", m.path(), report)
		if err != nil {
			problems = append(problems, fmt.Errorf("gorelease of %s: %w", m.path(), err))
		}
	}
	return errors.Join(problems...)
}

// addTree adds the tree to the proxy, but not to its list of versions: gorelease refuses one that exists.
func (c *comparison) addTree(ctx context.Context) error {
	if err := c.proxy.addTree(ctx, c.repo, c.version); err != nil {
		return err
	}
	for _, m := range c.public() {
		if err := os.WriteFile(c.proxy.list(m.at(c.version)), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// bases adds the last tagged version of each public module to the proxy, and returns them by path.
func (c *comparison) bases(ctx context.Context) (map[string]string, error) {
	bases := make(map[string]string)
	for _, m := range c.public() {
		base, err := c.base(ctx, m, c.version)
		if err == nil && base != "none" {
			err = c.proxy.addTag(ctx, c.repo, m, base)
		}
		if err != nil {
			return nil, err
		}
		bases[m.path()] = base
	}
	return bases, nil
}

// of returns the report on m.
func (c *comparison) of(ctx context.Context, m mod, base string) (string, error) {
	dir, err := c.copy(m)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.dir, ".bin", "gorelease"), "-base="+base, "-version="+c.version)
	cmd.Dir = dir
	cmd.Env = c.env
	report, err := cmd.CombinedOutput()
	return string(report), err
}

// copy copies m without the repository, which gorelease would require to be clean. It adds the sums of the siblings,
// because go.sum cannot have them before the siblings are tagged.
func (c *comparison) copy(m mod) (dir string, err error) {
	dir = filepath.Join(c.copies, filepath.FromSlash(m.dir), "module")
	if err := zip.Unzip(dir, m.at(c.version), c.proxy.file(m.at(c.version), ".zip")); err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for _, required := range m.file.Require {
		if _, ok := c.sibling(required.Mod.Path); ok {
			lines, err := c.proxy.sums(required.Mod)
			if err != nil {
				return "", err
			}
			sums = append(sums, lines...)
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}

// base returns the highest version of m below version that has a tag, or none.
func (r *repo) base(ctx context.Context, m mod, version string) (string, error) {
	out, err := output(ctx, r.dir, "git", "tag", "--list", m.tag("v*"))
	if err != nil {
		return "", err
	}
	highest := "none"
	for tag := range strings.FieldsSeq(out) {
		if v := tag[strings.LastIndexByte(tag, '/')+1:]; semver.Compare(v, version) < 0 && semver.Compare(v, highest) > 0 {
			highest = v
		}
	}
	return highest, nil
}

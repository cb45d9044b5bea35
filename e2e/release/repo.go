package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// repo is a checkout with a go.work, whose first module is the root. A folder with its own go.work is one more module.
type repo struct {
	dir     string
	modules []mod
}

// mod is one module of a repo.
type mod struct {
	dir  string // slash-separated and relative to the repo; "." for the root
	file *modfile.File
}

func (m mod) path() string { return m.file.Module.Mod.Path }

func (m mod) at(version string) module.Version {
	return module.Version{Path: m.path(), Version: version}
}

// tag returns the tag of a version of m.
func (m mod) tag(version string) string { return path.Join(m.dir, version) }

// isPublic reports whether users can require m. The other modules hold tests, such as those in the
// folder test of an adapter, benchmarks and examples, which people read and run in a checkout.
func (m mod) isPublic() bool {
	first, _, _ := strings.Cut(m.dir, "/")
	return first != "bench" && first != "e2e" && first != "examples" && path.Base(m.dir) != "test"
}

func openRepo(dir string) (*repo, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	r := &repo{dir: dir}
	var dirs []string
	for _, use := range work.Use {
		dirs = append(dirs, path.Clean(use.Path))
	}
	apart, err := filepath.Glob(filepath.Join(dir, "*", "go.work"))
	if err != nil {
		return nil, err
	}
	for _, file := range apart {
		dirs = append(dirs, filepath.Base(filepath.Dir(file)))
	}
	for _, dir := range dirs {
		m := mod{dir: dir}
		name := r.modFile(m)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if m.file, err = modfile.Parse(name, text, nil); err != nil {
			return nil, err
		}
		if m.file.Module == nil {
			return nil, fmt.Errorf("%s names no module", name)
		}
		r.modules = append(r.modules, m)
	}
	if len(r.modules) == 0 || r.modules[0].dir != "." {
		return nil, errors.New("go.work does not begin with the root module")
	}
	return r, nil
}

func (r *repo) modFile(m mod) string {
	return filepath.Join(r.dir, filepath.FromSlash(m.dir), "go.mod")
}

// public returns the modules that users can require.
func (r *repo) public() []mod {
	return slices.DeleteFunc(slices.Clone(r.modules), func(m mod) bool { return !m.isPublic() })
}

// sibling returns the module with this path.
func (r *repo) sibling(path string) (mod, bool) {
	i := slices.IndexFunc(r.modules, func(m mod) bool { return m.path() == path })
	if i < 0 {
		return mod{}, false
	}
	return r.modules[i], true
}

// required returns the highest version that a module of r requires of another.
func (r *repo) required() (highest string) {
	for _, m := range r.modules {
		for _, require := range m.file.Require {
			if _, ok := r.sibling(require.Mod.Path); ok && semver.Compare(require.Mod.Version, highest) > 0 {
				highest = require.Mod.Version
			}
		}
	}
	return highest
}

// require sets the version of all requirements of siblings.
func (r *repo) require(version string) error {
	if err := module.Check(r.modules[0].path(), version); err != nil {
		return err
	}
	for _, m := range r.modules {
		for _, require := range m.file.Require {
			if _, ok := r.sibling(require.Mod.Path); ok {
				if err := m.file.AddRequire(require.Mod.Path, version); err != nil {
					return err
				}
			}
		}
		text, err := m.file.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.modFile(m), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// output runs a command in dir and returns what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// check returns all reasons why version cannot be released from the tree.
func (r *repo) check(ctx context.Context, version string) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	problems := []error{r.checkClean(ctx), r.checkTags(ctx, version), r.checkChangelog(version)}
	for _, m := range r.modules {
		for _, require := range m.file.Require {
			problems = append(problems, r.checkRequirement(m, require.Mod, version))
		}
		problems = append(problems, r.checkCommand(m))
	}
	return errors.Join(problems...)
}

// checkVersion accepts versions of major 0 and 1: later ones are part of the module's path.
func checkVersion(version string) error {
	switch {
	case semver.Canonical(version) != version || version == "":
		return fmt.Errorf("version %q is not of the form v1.2.3 or v1.2.3-rc.1", version)
	case module.IsPseudoVersion(version) || module.IsZeroPseudoVersion(version) || version == "v0.0.0":
		return fmt.Errorf("version %s cannot be a tag", version)
	case semver.Major(version) != "v0" && semver.Major(version) != "v1":
		return fmt.Errorf("version %s requires module paths that end in /%s", version, semver.Major(version))
	}
	return nil
}

func (r *repo) checkClean(ctx context.Context) error {
	changed, err := output(ctx, r.dir, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree has changes that are not committed:\n%s", strings.TrimRight(changed, "\n"))
	}
	return nil
}

func (r *repo) checkTags(ctx context.Context, version string) error {
	out, err := output(ctx, r.dir, "git", "tag", "--list")
	if err != nil {
		return err
	}
	tags := strings.Fields(out)
	var problems []error
	for _, m := range r.public() {
		if slices.Contains(tags, m.tag(version)) {
			problems = append(problems, fmt.Errorf("tag %s exists", m.tag(version)))
		}
	}
	return errors.Join(problems...)
}

var section = regexp.MustCompile(`(?m)^## \[(.+?)\](?: - \d{4}-\d{2}-\d{2})?$`)

// checkChangelog requires an empty section of unreleased changes, or none, and after it a section
// of version with a date.
func (r *repo) checkChangelog(version string) error {
	text, err := os.ReadFile(filepath.Join(r.dir, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	number := strings.TrimPrefix(version, "v")
	at := section.FindAllSubmatchIndex(text, -1)
	if len(at) > 0 && string(text[at[0][2]:at[0][3]]) == "Unreleased" {
		end := len(text)
		if len(at) > 1 {
			end = at[1][0]
		}
		if strings.TrimSpace(string(text[at[0][1]:end])) != "" {
			return fmt.Errorf("CHANGELOG.md has unreleased changes: move them to a section [%s]", number)
		}
		at = at[1:]
	}
	if len(at) == 0 || !strings.HasPrefix(string(text[at[0][0]:at[0][1]]), "## ["+number+"] - ") {
		return fmt.Errorf("the latest section of CHANGELOG.md is not ## [%s] - YYYY-MM-DD", number)
	}
	return nil
}

// checkRequirement accepts a requirement of m if it is not of a sibling, or if it names version
// and m replaces the sibling by its folder.
func (r *repo) checkRequirement(m mod, required module.Version, version string) error {
	sibling, ok := r.sibling(required.Path)
	if !ok {
		return nil
	}
	if required.Version != version {
		return fmt.Errorf("%s requires %s %s in place of %s: run make next VERSION=%[4]s", m.path(), required.Path, required.Version, version)
	}
	if m.isPublic() && !sibling.isPublic() {
		return fmt.Errorf("%s requires %s, which is not released", m.path(), required.Path)
	}
	replaced := slices.ContainsFunc(m.file.Replace, func(replace *modfile.Replace) bool {
		return replace.Old.Path == required.Path && path.Join(m.dir, replace.New.Path) == sibling.dir
	})
	if !replaced && !r.hasCommand(m) {
		return fmt.Errorf("%s does not replace %s by its folder", m.path(), required.Path)
	}
	return nil
}

// checkCommand refuses replacements in a public module with a command, because go install
// does not accept them.
func (r *repo) checkCommand(m mod) error {
	if m.isPublic() && r.hasCommand(m) && len(m.file.Replace) > 0 {
		return fmt.Errorf("%s has commands, which cannot be installed because its go.mod has replacements", m.path())
	}
	return nil
}

// hasCommand reports whether m is a public module with commands, which are below cmd, or is itself
// below the cmd of the root.
func (r *repo) hasCommand(m mod) bool {
	if strings.HasPrefix(m.dir, "cmd/") {
		return true
	}
	info, err := os.Stat(filepath.Join(r.dir, filepath.FromSlash(m.dir), "cmd"))
	return err == nil && info.IsDir() && m.isPublic()
}

// ci runs what a change must pass. No test takes its result from the cache, which does not notice
// changes in other modules.
func (r *repo) ci(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "make", "ci")
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -count=1"))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("make ci: %w", err)
	}
	return r.checkClean(ctx)
}

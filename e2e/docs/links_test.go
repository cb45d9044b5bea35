package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fencedBlock  = regexp.MustCompile("(?s)```.*?```")
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the fragments of the headings of a page, as links name them.
func anchors(page string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(page, ""), -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// A link between the documents reaches a file or folder and, if it has a fragment, a heading.
func TestLinksOfTheDocumentsReachSomething(t *testing.T) {
	t.Parallel()
	links := 0
	require.NoError(t, filepath.WalkDir(".", func(page string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		for _, m := range markdownLink.FindAllStringSubmatch(fencedBlock.ReplaceAllString(readFile(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(target)
			if assert.NoError(t, err, "%s links to %s", page, m[1]) && fragment != "" {
				assert.Contains(t, anchors(readFile(t, target)), fragment, "%s links to %s", page, m[1])
			}
		}
		return nil
	}))
	assert.Greater(t, links, 50)
}

// The README is one page, begins with the lines that a program needs, and names every other page.
func TestREADMEIsOnePageThatNamesTheOthers(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	assert.LessOrEqual(t, len(strings.Fields(readme)), 1300, "words")
	beginning, _, _ := strings.Cut(readme, "\n## ")
	first := goBlock.FindString(beginning)
	for _, call := range []string{"footfall.New(", "tracker.Middleware(", "tracker.Run("} {
		assert.Contains(t, first, call)
	}
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, page := range append(documents(t), pages...) {
		if page != "README.md" {
			assert.Contains(t, readme, "]("+page+")")
		}
	}
}

// DESIGN.md is an overview that names the design of each part, and each of them leads back.
func TestDESIGNIsAnOverviewThatNamesTheOthers(t *testing.T) {
	t.Parallel()
	overview := readFile(t, "DESIGN.md")
	assert.LessOrEqual(t, len(strings.Fields(overview)), 3000, "words")
	pages, err := filepath.Glob("docs/design/*.md")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(".", func(page string, d fs.DirEntry, err error) error {
		if d.Name() == "DESIGN.md" && page != "DESIGN.md" {
			pages = append(pages, page)
		}
		return err
	}))
	assert.Greater(t, len(pages), 10)
	for _, page := range pages {
		assert.Contains(t, overview, "]("+filepath.ToSlash(page)+")")
		assert.Regexp(t, `\]\((\.\./)+DESIGN\.md\)`, readFile(t, page), page)
	}
}

// VERSIONING.md names each module that is released, and the version of Go that go.mod names.
func TestVERSIONINGNamesTheReleasedModules(t *testing.T) {
	t.Parallel()
	text := readFile(t, "VERSIONING.md")
	released, _, found := strings.Cut(text, "\n\n|")
	require.True(t, found)
	used := regexp.MustCompile(`(?m)^\t\./(\S+)$`).FindAllStringSubmatch(readFile(t, "go.work"), -1)
	require.Greater(t, len(used), 10)
	for _, m := range used {
		name := strings.TrimPrefix(m[1], "adapters/")
		switch {
		case name == "e2e", name == "examples", name == "examples/generators", name == "examples/jobs", name == "outbox/test":
			assert.NotContains(t, released, "`"+name+"`")
		case strings.HasPrefix(name, "footfall"):
			assert.Contains(t, released, "the adapters")
		default:
			assert.Contains(t, released, "`"+name+"`")
		}
	}
	assert.NotContains(t, released, "`bench`")
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	assert.Contains(t, text, "oldest version of Go that works: today "+version+".")
}

// dependabot.yml lists the modules that are not imported by applications, and each Dockerfile.
func TestDependenciesOfProgramsAreUpdated(t *testing.T) {
	t.Parallel()
	text := readFile(t, ".github/dependabot.yml")
	list := func(ecosystem string) (dirs []string) {
		found := regexp.MustCompile(`package-ecosystem: ` + ecosystem + `\n\s+directories: \[(.*)\]`).FindStringSubmatch(text)
		require.NotNil(t, found, ecosystem)
		return strings.Split(found[1], ", ")
	}
	for _, dir := range list("gomod") {
		assert.FileExists(t, filepath.Join(".", dir, "go.mod"))
	}
	assert.Subset(t, list("gomod"), []string{"/bench", "/cmd/footfall", "/collector", "/e2e", "/examples", "/examples/generators", "/examples/jobs", "/outbox/test"})
	images, err := filepath.Glob("*/*/Dockerfile")
	require.NoError(t, err)
	more, err := filepath.Glob("*/*/*/Dockerfile")
	require.NoError(t, err)
	var folders []string
	for _, image := range append(images, more...) {
		folders = append(folders, "/"+filepath.ToSlash(filepath.Dir(image)))
	}
	assert.ElementsMatch(t, folders, list("docker"))
}

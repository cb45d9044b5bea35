package footfall_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// docs/frameworks.md describes rules above a router that is not an http.ServeMux.
func TestRulesAboveAnotherRouter(t *testing.T) {
	t.Parallel()
	router := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	site := setup{rules: []footfall.Rule{
		{Route: "GET /user/reset/{key}", Event: "reset_opened", PathProps: []string{"key"}},
		{Route: footfall.AnyRoute},
		{Route: footfall.NoRoute},
	}}.open(t, router)
	site.get(t, "/user/reset/abc")
	site.get(t, "/other")
	site.get(t, "/missing")
	assert.ElementsMatch(t, []string{"reset_opened", "get_no_route"}, eventNames(site.events()))
	assert.Contains(t, urls(site.events()), "https://shop.example.com/user/reset/%7Bkey%7D")
}

// docs/frameworks.md describes the events of a form that always redirects.
func TestFormThatRedirectsEitherWay(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/{answer}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("answer") == "right" {
			assert.NoError(t, footfall.Track(r.Context(), "logged_in"))
		}
		w.Header().Set("Location", "/")
		w.WriteHeader(http.StatusSeeOther)
	})
	site := setup{rules: []footfall.Rule{{Route: "GET /login/{answer}", Event: "by_rule", Status: footfall.Success}}}.open(t, mux)
	site.get(t, "/login/right")
	site.get(t, "/login/wrong")
	assert.ElementsMatch(t, []string{"logged_in", "by_rule", "by_rule"}, eventNames(site.events()))
}

func eventNames(events []footfalltest.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.Name)
	}
	return names
}

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
		case name == "bench", name == "e2e", name == "examples":
			assert.NotContains(t, released, "`"+name+"`")
		case strings.HasPrefix(name, "footfall"):
			assert.Contains(t, released, "the adapters")
		default:
			assert.Contains(t, released, "`"+name+"`")
		}
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	assert.Contains(t, text, "oldest version of Go that works: today "+version+".")
}

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

// The README is one page, and names every other one.
func TestREADMEIsOnePageThatNamesTheOthers(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "README.md")
	assert.LessOrEqual(t, len(strings.Fields(readme)), 1300, "words")
	for _, page := range documents(t) {
		if page != "README.md" {
			assert.Contains(t, readme, "]("+page+")")
		}
	}
}

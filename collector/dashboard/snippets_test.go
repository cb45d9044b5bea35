package dashboard

import (
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// code returns the text of the snippet with a label.
func (a answer) code(label string) string {
	return html.UnescapeString(between(a.body, `aria-label="`+label+`"><code>`, "</code>"))
}

func TestKeysPageGivesTheVariablesOfAServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.signedIn()
	nothing := b.page("/keys")
	assert.Equal(t, "export FOOTFALL_BASE_URL=https://stats.example.com\nexport FOOTFALL_API_KEY=YOUR_API_KEY\nexport FOOTFALL_SITE_ID=YOUR_SITE_ID", nothing.code("Environment variables"))
	assert.Contains(t, nothing.body, `<a href="/sites/new">Add a site</a> to get a FOOTFALL_SITE_ID.`)

	shop := f.site("Shop", "shop.example.com")
	issued := nothing.submit("/keys", map[string]string{"label": "server"})
	secret := issued.code("Secret")
	assert.Len(t, secret, len(between(issued.body, "FOOTFALL_API_KEY=", "\n")))
	assert.Equal(t, "export FOOTFALL_BASE_URL=https://stats.example.com\nexport FOOTFALL_API_KEY="+secret+"\nexport FOOTFALL_SITE_ID="+shop.ID, issued.code("Environment variables"))
	assert.NotContains(t, issued.body, "YOUR_")
	later := b.page("/keys")
	assert.NotContains(t, later.body, secret)
	assert.Contains(t, later.code("Environment variables"), "\nexport FOOTFALL_API_KEY=YOUR_API_KEY\n")

	blog := f.site("Blog", "blog.example.com")
	assert.True(t, strings.HasSuffix(b.page("/keys").code("Environment variables"),
		"\nexport FOOTFALL_SITE_ID="+blog.ID+"  # blog.example.com\n# export FOOTFALL_SITE_ID="+shop.ID+"  # shop.example.com"))
}

func TestASiteWithoutEventsHasLinesOfGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	for _, path := range []string{"/sites/" + site.ID, "/sites/" + site.ID + "/settings", "/keys"} {
		page := b.page(path)
		assert.Equal(t, `tracker, err := footfall.New(footfall.ConfigFromEnv())
if err != nil {
	log.Fatal(err)
}
ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
defer cancel()
page := footfall.WithURL(ctx, "https://shop.example.com/signup")
if err := tracker.Track(page, "signup", footfall.P("plan", "pro")); err != nil {
	log.Fatal(err)
}
if err := tracker.Close(ctx); err != nil {
	log.Fatal(err)
}
log.Println("events that arrived:", tracker.Stats().Delivered)`, page.code("Lines of Go"), path)
		assert.Contains(t, page.body, "print <code>events that arrived: 1</code>", path)
		assert.Contains(t, page.code("Environment variables"), "FOOTFALL_SITE_ID="+site.ID, path)
	}
}

func TestWaitingPageRefreshesItselfUntilTheFirstEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	site := f.site("Shop", "shop.example.com")
	b := f.signedIn()
	waiting := b.page("/sites/" + site.ID)
	assert.Contains(t, waiting.body, `<noscript><meta http-equiv="refresh" content="5"></noscript>`)
	assert.Contains(t, waiting.body, `id="waiting" data-stream="/sites/`+site.ID+`/live/stream"`)
	f.add(viewed(site.ID, "/", noon.AddDate(0, 0, -400), 1)) // outside of the range
	for _, path := range []string{"/sites/" + site.ID, "/keys", "/"} {
		page := b.page(path)
		assert.NotContains(t, page.body, "http-equiv", path)
		assert.NotContains(t, page.body, `id="waiting"`, path)
	}
}

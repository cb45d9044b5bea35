package dashboard

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/store"
)

// onPages returns an event on each path.
func onPages(paths ...string) func(account.Site) []store.Event {
	return func(site account.Site) (all []store.Event) {
		for _, path := range paths {
			e := happened(site.ID, "paid", noon, 0)
			e.URL, e.Path = "https://shop.example.com"+path, path
			all = append(all, e)
		}
		return all
	}
}

const replacedNote = "Segments of these addresses were replaced"

func TestThePageOfAnEventSaysWhatWasReplacedInItsPages(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, pageOfPaid(t, onPages("/products/drowsy-kettle", "/100%25/%7B")), replacedNote)

	body := pageOfPaid(t, onPages("/products/%7Bslug%7D", "/a/%7Border.id%7D/%7Bslug%7D", "/cart"))
	assert.Contains(t, body, replacedNote)
	assert.Contains(t, body, `{order.id}, {slug}: wildcards of the route`)
	assert.Contains(t, body, `<code>Config.AllowPIIKeys = []string{"order.id", "slug"}</code>`)
	assert.NotContains(t, body, "[redacted]:")

	body = pageOfPaid(t, onPages("/products/%5Bredacted%5D", "/cart"))
	assert.Contains(t, body, replacedNote)
	assert.Contains(t, body, `[redacted]: a segment that looks like a secret`)
	assert.NotContains(t, body, `wildcards of the route`)
}

// Paths are stored as figures count them, which is unescaped.
func TestThePageOfAnEventFindsWhatWasReplacedInStoredPaths(t *testing.T) {
	t.Parallel()
	body := pageOfPaid(t, onPages("/products/{slug}", "/a/[redacted]", "/100%/{"))
	assert.Contains(t, body, replacedNote)
	assert.Contains(t, body, `[]string{"slug"}`)
	assert.Contains(t, body, `[redacted]: a segment that looks like a secret`)
}

func TestAClientCannotFillThePageOfAnEventWithNamesOfWildcards(t *testing.T) {
	t.Parallel()
	body := pageOfPaid(t, onPages("/%7Ba%7D/%7Bb%7D/%7Bc%7D/%7Bd%7D/%7Be%7D/%7Bf%7D", "/%7B<script>%7D"))
	assert.Contains(t, body, `[]string{"a", "b", "c", "d", "e"}`)
	assert.NotContains(t, body, `"f"`)
	assert.NotContains(t, pageOfPaid(t, onPages("/%7B<script>%7D", `/%7B",%20"x%7D`)), replacedNote)
}

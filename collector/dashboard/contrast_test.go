package dashboard

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// contrasts are the minimums of WCAG 2.2 AA: 4.5 for text, 3 for the outlines of controls.
var contrasts = []struct {
	text, ground string
	least        float64
}{
	{"ink", "paper", 4.5}, {"ink", "card", 4.5}, {"ink", "sunken", 4.5}, {"ink", "bar", 4.5}, {"ink", "clay-soft", 4.5}, {"ink", "good-soft", 4.5}, {"ink", "raised", 4.5},
	{"muted", "paper", 4.5}, {"muted", "card", 4.5}, {"muted", "sunken", 4.5}, {"muted", "bar", 4.5}, {"muted", "line", 4.5},
	{"pine", "paper", 4.5}, {"pine", "card", 4.5}, {"pine", "bar", 4.5}, {"on-pine", "pine", 4.5}, {"on-pine", "pine-hover", 4.5},
	{"clay", "card", 4.5}, {"clay", "clay-soft", 4.5}, {"bad", "card", 4.5}, {"bad", "bad-soft", 4.5}, {"card", "bad", 4.5},
	{"edge", "card", 3}, {"focus", "paper", 3}, {"focus", "card", 3}, {"pine", "card", 3}, {"clay-bar", "card", 3},
}

func TestColoursHaveContrastAA(t *testing.T) {
	t.Parallel()
	css, err := files.ReadFile("assets/footfall.css")
	require.NoError(t, err)
	parts := strings.SplitN(string(css), "prefers-color-scheme: dark", 2)
	for name, part := range map[string]string{"light": parts[0], "dark": parts[1]} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(part, -1) {
			colours[m[1]] = luminance(m[2])
		}
		for _, c := range contrasts {
			x, y := colours[c.text]+0.05, colours[c.ground]+0.05
			assert.GreaterOrEqual(t, max(x, y)/min(x, y), c.least, "%s: %s on %s", name, c.text, c.ground)
		}
	}
}

// luminance returns the relative luminance of a colour, as WCAG defines it.
func luminance(hex string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		part := float64(n) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}

// Events have one colour on all pages, whether browsers or servers sent them.
func TestEventsHaveOneColour(t *testing.T) {
	t.Parallel()
	css, err := files.ReadFile("assets/footfall.css")
	require.NoError(t, err)
	stripes := regexp.MustCompile(`--from-server: (.*);`).FindStringSubmatch(string(css))
	require.NotNil(t, stripes)
	assert.Equal(t, []string{"clay-bar"}, colourNames(stripes[1]))
	for _, selector := range []string{".columns .events", ".headline .is-events dt::before", ".key.events::before", ".key.servers::before", ".live .server::before"} {
		rule := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(selector) + ` \{ (.*) \}`).FindStringSubmatch(string(css))
		require.NotNil(t, rule, selector)
		assert.Subset(t, []string{"clay-bar", "from-server"}, colourNames(rule[1]), selector)
	}
}

// colourNames returns the variables of a declaration.
func colourNames(declaration string) (names []string) {
	for _, m := range regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllStringSubmatch(declaration, -1) {
		names = append(names, m[1])
	}
	return names
}

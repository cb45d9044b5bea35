//go:build ci

package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestANewSiteGetsTheTimeZoneOfTheBrowser(t *testing.T) {
	inTheOffice(t, func(t *testing.T, o *office) {
		_, err := chromedp.Call(o.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Lisbon"})
		require.NoError(t, err)
		o.open(o.url + "/sites/new")
		o.fill("domain", "app.example.com")
		want := ""
		if o.scripts {
			want = "Europe/Lisbon"
			assert.Greater(t, eval[int](o.browser, `document.getElementById("zone").list.options.length`), 300)
		}
		o.press("Add the site")
		o.shows("app.example.com")
		site, ok := o.account.SiteOf("app.example.com")
		require.True(t, ok)
		assert.Equal(t, want, site.Zone)

		o.open(o.url + "/sites/" + site.ID + "/settings")
		o.console.expect("422")
		o.refill("zone", "Mars")
		o.press("Save")
		o.shows("must be the name of a time zone")
		o.refill("zone", "America/Los_Angeles")
		o.press("Save")
		o.shows("in America/Los_Angeles")
	})
}

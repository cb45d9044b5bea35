package dashboard

import "github.com/footfall-dev/footfall/collector/store"

// dimension is a table of the dashboard.
type dimension struct {
	store.Dimension
	Slug  string // in URLs
	Title string
	What  string // header of the texts
	None  string // text of an empty table
}

// dimensions are in the order of the overview.
var dimensions = []dimension{
	{store.Pages, "pages", "Pages", "Page", "No pageviews in this range."},
	{store.Referrers, "referrers", "Referrers", "Referrer", "No pageviews in this range."},
	{store.Names, "names", "Events", "Event", "No events in this range."},
	{store.Sources, "sources", "Sources", "Source", "No pageview had a utm_source, source or ref."},
	{store.Mediums, "mediums", "UTM mediums", "Medium", "No pageview had a utm_medium."},
	{store.Campaigns, "campaigns", "UTM campaigns", "Campaign", "No pageview had a utm_campaign."},
	{store.Browsers, "browsers", "Browsers", "Browser", "No pageview told its browser."},
	{store.Devices, "devices", "Devices", "Device", "No pageview told its device."},
	{store.EventPages, "event-pages", "Pages of events", "Page", "No events in this range."},
	{store.EventSources, "event-sources", "Sources of events", "Source", "No event had a utm_source, source or ref in its URL."},
	{store.EventMediums, "event-mediums", "UTM mediums of events", "Medium", "No event had a utm_medium in its URL."},
	{store.EventCampaigns, "event-campaigns", "UTM campaigns of events", "Campaign", "No event had a utm_campaign in its URL."},
}

// dimensionOf returns the table of a dimension.
func dimensionOf(of store.Dimension) dimension {
	for _, d := range dimensions {
		if d.Dimension == of {
			return d
		}
	}
	panic("dashboard: no table of " + string(of.Field)) // cannot happen: a test looks up each dimension
}

// twin returns the table that counts the same texts of the other events, if there is one.
func (d dimension) twin() (dimension, bool) {
	t, ok := d.Twin()
	if !ok {
		return dimension{}, false
	}
	return dimensionOf(t), true
}

// question asks for the first rows of the table.
func (d dimension) question(limit int) store.Question {
	return store.Question{Counts: d.Counts, By: d.Field, Limit: limit}
}

package store

// Dimension is the property that Top counts by.
type Dimension uint8

// Dimensions. Each has a line in the table that [Dimension.Info] returns.
const (
	Pages Dimension = iota
	Referrers
	Names
	Sources
	Mediums
	Campaigns
	Browsers
	Devices
	EventPages
	EventSources
	EventMediums
	EventCampaigns
)

// DimensionInfo describes a dimension: what it counts, and how the dashboard names it.
type DimensionInfo struct {
	By     Dimension
	Slug   string // in URLs
	Column string // name of the text in files
	Counts Counts
	Blank  bool // events whose text is empty count, too

	Title string // of the table
	What  string // header of the texts
	None  string // text of an empty table

	text func(*Event) *string
}

// Text returns the text of e that the dimension counts by.
func (d *DimensionInfo) Text(e *Event) string { return *d.text(e) }

// SetText sets the text of e that the dimension counts by.
func (d *DimensionInfo) SetText(e *Event, text string) { *d.text(e) = text }

// CountsEvent reports whether e counts.
func (d *DimensionInfo) CountsEvent(e *Event) bool {
	return d.Counts.Event(e.Name) && (d.Blank || d.Text(e) != "")
}

// Twin returns the dimension that counts the same text of the other events, if there is one.
func (d *DimensionInfo) Twin() (*DimensionInfo, bool) {
	for i := range dimensions {
		if t := &dimensions[i]; t.Column == d.Column && t.Counts != d.Counts {
			return t, true
		}
	}
	return nil, false
}

// Counts says which events a dimension counts.
type Counts string

// Counts are named as the dashboard heads their column.
const (
	Pageviews Counts = "Pageviews"
	Events    Counts = "Events" // events with a name
)

// Event reports whether an event with this name counts. A pageview has no name.
func (c Counts) Event(name string) bool { return (name == "") == (c == Pageviews) }

// Dimensions returns the table of all dimensions, in the order of the constants and of the
// dashboard. The caller must not change it. A new dimension is a line here, a constant above, and numbers and a migration in
// each engine.
func Dimensions() []DimensionInfo { return dimensions[:] }

// Info returns the line of a dimension, or false if there is none.
func (d Dimension) Info() (*DimensionInfo, bool) {
	if int(d) >= len(dimensions) {
		return nil, false
	}
	return &dimensions[d], true
}

var dimensions = [...]DimensionInfo{
	{Pages, "pages", "path", Pageviews, true, "Pages", "Page", "No pageviews in this range.", func(e *Event) *string { return &e.Path }},
	{Referrers, "referrers", "referrer", Pageviews, true, "Referrers", "Referrer", "No pageviews in this range.", func(e *Event) *string { return &e.Referrer }},
	{Names, "names", "name", Events, false, "Events", "Event", "No events in this range.", func(e *Event) *string { return &e.Name }},
	{Sources, "sources", "source", Pageviews, false, "Sources", "Source", "No pageview had a utm_source, source or ref.", func(e *Event) *string { return &e.Source }},
	{Mediums, "mediums", "medium", Pageviews, false, "UTM mediums", "Medium", "No pageview had a utm_medium.", func(e *Event) *string { return &e.Medium }},
	{Campaigns, "campaigns", "campaign", Pageviews, false, "UTM campaigns", "Campaign", "No pageview had a utm_campaign.", func(e *Event) *string { return &e.Campaign }},
	{Browsers, "browsers", "browser", Pageviews, false, "Browsers", "Browser", "No pageview told its browser.", func(e *Event) *string { return &e.Browser }},
	{Devices, "devices", "device", Pageviews, false, "Devices", "Device", "No pageview told its device.", func(e *Event) *string { return &e.Device }},
	{EventPages, "event-pages", "path", Events, true, "Pages of events", "Page", "No events in this range.", func(e *Event) *string { return &e.Path }},
	{EventSources, "event-sources", "source", Events, false, "Sources of events", "Source", "No event had a utm_source, source or ref in its URL.", func(e *Event) *string { return &e.Source }},
	{EventMediums, "event-mediums", "medium", Events, false, "UTM mediums of events", "Medium", "No event had a utm_medium in its URL.", func(e *Event) *string { return &e.Medium }},
	{EventCampaigns, "event-campaigns", "campaign", Events, false, "UTM campaigns of events", "Campaign", "No event had a utm_campaign in its URL.", func(e *Event) *string { return &e.Campaign }},
}

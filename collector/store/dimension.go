package store

import "slices"

// Counts says which events a figure counts.
type Counts string

// Counts are named as the dashboard heads their column.
const (
	All       Counts = ""
	Pageviews Counts = "Pageviews"
	Events    Counts = "Events" // events with a name
)

// Event reports whether an event with this name counts. A pageview has no name.
func (c Counts) Event(name string) bool { return c == All || (name == "") == (c == Pageviews) }

// Dimension is a field with the events that a table of it counts.
type Dimension struct {
	Field  Field
	Counts Counts
}

// Dimensions for which an engine computes the tables of a day in advance.
var (
	Pages          = Dimension{Path, Pageviews}
	Referrers      = Dimension{Referrer, Pageviews}
	Names          = Dimension{Name, Events}
	Sources        = Dimension{Source, Pageviews}
	Mediums        = Dimension{Medium, Pageviews}
	Campaigns      = Dimension{Campaign, Pageviews}
	Browsers       = Dimension{Browser, Pageviews}
	Devices        = Dimension{Device, Pageviews}
	EventPages     = Dimension{Path, Events}
	EventSources   = Dimension{Source, Events}
	EventMediums   = Dimension{Medium, Events}
	EventCampaigns = Dimension{Campaign, Events}
)

var dimensions = []Dimension{
	Pages, Referrers, Names, Sources, Mediums, Campaigns, Browsers, Devices, EventPages, EventSources, EventMediums, EventCampaigns,
}

// Dimensions returns all of them. A new one is a line above, and numbers and a migration in each engine.
func Dimensions() []Dimension { return slices.Clone(dimensions) }

// CountsEvent reports whether a table of the dimension counts e.
func (d Dimension) CountsEvent(e *Event) bool {
	return d.Counts.Event(e.Name) && d.Field.HasRow(*d.Field.Of(e))
}

// Twin returns the dimension that counts the same field of the other events, if there is one.
func (d Dimension) Twin() (Dimension, bool) {
	for _, t := range dimensions {
		if t.Field == d.Field && t.Counts != d.Counts {
			return t, true
		}
	}
	return Dimension{}, false
}

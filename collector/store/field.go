package store

import "slices"

// Field is what a condition compares and a table counts by: a text of an event, or one of its props.
type Field string

// Fields that are texts of an event.
const (
	Path     Field = "path"
	Referrer Field = "referrer"
	Name     Field = "name"
	Source   Field = "source"
	Medium   Field = "medium"
	Campaign Field = "campaign"
	Browser  Field = "browser"
	Device   Field = "device"
)

// Other fields.
const (
	// PropOf is the value of a prop, whose key a Condition or Question names. An event that has no such prop has no value, which
	// is not the empty text.
	PropOf Field = "prop"

	// Props are all props of an event: only for a [Question].
	Props Field = "props"

	// Goal is whether an event has reached a goal, or its visitor has on the same day: only for a [Condition].
	Goal Field = "goal"
)

// TextFields returns the fields that are texts of an event.
func TextFields() []Field { return slices.Clone(textFields) }

var textFields = []Field{Path, Referrer, Name, Source, Medium, Campaign, Browser, Device}

// IsText reports whether the field is a text of an event.
func (f Field) IsText() bool { return slices.Contains(textFields, f) }

// Of returns the text of an event; nil for other fields.
func (f Field) Of(e *Event) *string {
	switch f {
	case Path:
		return &e.Path
	case Referrer:
		return &e.Referrer
	case Name:
		return &e.Name
	case Source:
		return &e.Source
	case Medium:
		return &e.Medium
	case Campaign:
		return &e.Campaign
	case Browser:
		return &e.Browser
	case Device:
		return &e.Device
	}
	return nil
}

// HasRow reports whether a table that counts by the field has a row for events whose text is empty: a referrer is empty for
// direct visits.
func (f Field) HasRow(text string) bool { return text != "" || f == Path || f == Referrer }

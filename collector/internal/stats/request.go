// Package stats translates requests of the stats API to questions for the store, and answers to responses. It needs no server.
package stats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Request is a query of the stats API.
type Request struct {
	Site       string
	Metrics    []string
	Range      dateRange
	Dimensions []string
	Filters    []filter
	Order      [][]string
	Pagination *pagination

	dimension string // name of the parameter that has the dimension; "" for JSON
}

// pagination selects rows of a table.
type pagination struct {
	Limit  *int
	Offset int
}

// UnmarshalJSON implements [json.Unmarshaler].
func (p *pagination) UnmarshalJSON(data []byte) error {
	return readObject("pagination", data, map[string]any{"limit": &p.Limit, "offset": &p.Offset})
}

// FieldError says what is wrong with a field of a request.
type FieldError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

func wrong(field, format string, args ...any) error {
	return &FieldError{field, fmt.Sprintf(format, args...)}
}

// Decode returns the request in a body. The error is a *[FieldError].
func Decode(body []byte) (r Request, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return r, wrong("body", "is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, wrong("body", "has more than one JSON value")
	}
	return r, readObject("", value, map[string]any{
		"site_id": &r.Site, "metrics": &r.Metrics, "date_range": &r.Range, "dimensions": &r.Dimensions, "filters": &r.Filters,
		"order_by": &r.Order, "pagination": &r.Pagination,
	})
}

// readObject reads a JSON object, whose fields have exactly these names, each once at most. The name of the object is "" for the body.
func readObject(of string, value []byte, fields map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(value))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return wrong(cmp.Or(of, "body"), "must be a JSON object")
	}
	for d.More() {
		token, _ := d.Token() // valid JSON
		name := token.(string)
		field := strings.TrimPrefix(of+"."+name, ".")
		into, known := fields[name]
		switch {
		case !known:
			return wrong(shorten(field), "there is no such field")
		case into == nil:
			return wrong(field, "is given twice")
		}
		if err := d.Decode(into); err != nil {
			return reasonOf(field, err)
		}
		fields[name] = nil
	}
	return nil
}

// reasonOf describes why a field cannot be read.
func reasonOf(field string, err error) error {
	if own, ok := errors.AsType[*FieldError](err); ok {
		return own
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrong(field, "must not be a JSON %s", mistyped.Value)
	}
	return wrong(field, "cannot be read")
}

// dateRange is the name of a range, or the first and the last day of one.
type dateRange struct {
	Name        string
	First, Last string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (d *dateRange) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &d.Name) == nil {
		return nil
	}
	var days []string
	if json.Unmarshal(data, &days) != nil || len(days) != 2 {
		return wrong("date_range", "must be a name, or a list of two days")
	}
	d.First, d.Last = days[0], days[1]
	return nil
}

// filter is a condition: an operator, a dimension and values.
type filter struct {
	Op        string
	Dimension string
	Values    []string
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *filter) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if json.Unmarshal(data, &parts) != nil || len(parts) != 3 || json.Unmarshal(parts[0], &f.Op) != nil ||
		json.Unmarshal(parts[1], &f.Dimension) != nil || json.Unmarshal(parts[2], &f.Values) != nil {
		return wrong("filters", `must be a list of conditions such as ["is", "event:page", ["/pricing"]]`)
	}
	return nil
}

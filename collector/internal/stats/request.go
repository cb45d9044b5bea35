// Package stats translates requests of the stats API to questions for the store, and answers to responses. It needs no server.
package stats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Request is a query of the stats API, as JSON has it.
type Request struct {
	Site       string      `json:"site_id"`
	Metrics    []string    `json:"metrics"`
	Range      dateRange   `json:"date_range"`
	Dimensions []string    `json:"dimensions"`
	Filters    []filter    `json:"filters"`
	Order      [][]string  `json:"order_by"`
	Pagination *pagination `json:"pagination"`

	dimension string // name of the parameter that has the dimension; "" for JSON
}

// pagination selects rows of a table.
type pagination struct {
	Limit  *int `json:"limit"`
	Offset int  `json:"offset"`
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
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, reasonOf(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, wrong("body", "has more than one JSON value")
	}
	return r, nil
}

// reasonOf describes an error of the decoder.
func reasonOf(err error) error {
	if own, ok := errors.AsType[*FieldError](err); ok {
		return own
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if mistyped.Field == "" {
			return wrong("body", "must be a JSON object")
		}
		return wrong(mistyped.Field, "must not be a JSON %s", mistyped.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), `json: unknown field `); ok {
		return wrong(strings.Trim(name, `"`), "there is no such field")
	}
	return wrong("body", "is not valid JSON")
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

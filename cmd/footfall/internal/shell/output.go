package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall"
)

// WriteJSON prints a value as indented JSON.
func WriteJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Printable replaces the characters that a terminal would obey.
func Printable(text string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text)
}

// Word quotes a text with spaces or characters that a terminal would obey.
func Word(text string) string {
	odd := func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// ShownURLs returns URLs without passwords, separated by commas.
func ShownURLs(urls []string) string {
	var list []string
	for _, text := range urls {
		list = append(list, ShownURL(text))
	}
	return strings.Join(list, ",")
}

// ShownURL returns a URL without a password.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil { // the command line has been checked
		return "NATS"
	}
	u.User = nil
	return u.String()
}

// Event is the body of an event.
type Event struct {
	SiteID string         `json:"site_id"`
	Name   string         `json:"name"`
	URL    string         `json:"url"`
	Props  map[string]any `json:"props"`
}

// ParseEvent reads a body, and reports whether it is an event.
func ParseEvent(body []byte) (e Event, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return e, d.Decode(&e) == nil && e.Name != ""
}

// Line describes an event in one line.
func (e *Event) Line() string {
	words := []string{Word(e.Name), Word(e.SiteID), Word(e.URL)}
	for _, key := range slices.Sorted(maps.Keys(e.Props)) {
		words = append(words, Word(key)+"="+Word(fmt.Sprint(e.Props[key])))
	}
	return strings.Join(words, "  ")
}

// JSONBody returns JSON as it is, and other bytes as text.
func JSONBody(body []byte) any {
	if json.Valid(body) {
		return json.RawMessage(body)
	}
	return string(body)
}

// ErrReported ends the program with status 1. The output has the reason.
var ErrReported = errors.New("reported")

// Status returns the exit status for an error.
func Status(err error) int {
	if err == nil {
		return 0
	}
	_, usage := errors.AsType[usageError](err)
	_, command := errors.AsType[cli.ExitCoder](err) // package cli names an unknown command
	_, field := errors.AsType[*footfall.FieldError](err)
	if usage || command || field {
		return 2
	}
	return 1
}

// PrintError prints an error that the output does not have. It may quote an answer of the API.
func PrintError(out io.Writer, err error) {
	if err == nil || errors.Is(err, ErrReported) {
		return
	}
	lines := strings.Split(strings.TrimPrefix(err.Error(), "footfall: "), "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	fmt.Fprintln(out, "footfall: "+strings.Join(lines, "\n"))
}

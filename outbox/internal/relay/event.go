package relay

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/internal/envelope"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// notAnEvent is the code of a row that is not sent, because no Track has written it so.
const notAnEvent = "not_an_event"

// recordOf returns the record of a row, or why it is no event.
func recordOf(row *rows.Row, maxBody int) (r footfall.Record, reason string) {
	id, ok := parseID(row.ID)
	if !ok {
		return r, "id is not a UUID"
	}
	r = footfall.Record{ID: id, Body: row.Body}
	if row.Key != "" {
		r.Key = []byte(row.Key)
	}
	if reason = envelope.Check(row.Key); reason != "" {
		return r, "idempotency_key: " + reason
	}
	return r, checkBody(row.Body, maxBody)
}

// checkBody returns why a body is not an event (contract, section Event), or "". Other mistakes are for the
// API to find.
func checkBody(body []byte, maxBody int) (reason string) {
	if len(body) > maxBody {
		return fmt.Sprintf("body: more than %d bytes", maxBody)
	}
	var event struct {
		SiteID string `json:"site_id"`
		Name   string `json:"name"`
		URL    string `json:"url"`
	}
	switch err := json.Unmarshal(body, &event); {
	case err != nil || !utf8.Valid(body):
		return "body: not the JSON of an event"
	case event.SiteID == "" || event.Name == "" || event.URL == "":
		return "body: site_id, name or url is missing"
	}
	return ""
}

// parseID parses a UUID in the form of EventID.String.
func parseID(text string) (id footfall.EventID, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) != 2*len(id) {
		return id, false
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return id, false
	}
	return id, id.String() == text
}

// ascii returns text that each encoding of a database has, of at most n bytes: other characters are escaped as
// in Go.
func ascii(text string, n int) string {
	quoted := strconv.QuoteToASCII(text)
	quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	return quoted[:min(len(quoted), n)]
}

// reasonOf returns why the API has rejected an event.
func reasonOf(err error) (status int, code, reason string) {
	if api, ok := errors.AsType[*footfall.APIError](err); ok {
		return api.Status, api.Code, api.Message
	}
	return 0, "", fmt.Sprint(err)
}

// randomID returns an id for a row that has none.
func randomID() (id footfall.EventID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

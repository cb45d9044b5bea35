package footfall

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/internal/chars"
	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Errors that callers compare with errors.Is.
var (
	// ErrQueueFull is returned by Track when the event would exceed Config.MaxQueueEvents or
	// Config.MaxQueueBytes. While events of a name or site fail and others are accepted, the last
	// quarter of both bounds is for the others, unless Config.DropOldest is set: Track then returns
	// an error that matches ErrQueueFull and says so. The event was not accepted; Stats.Refused
	// counts it. The error of [Tracker.TrackDurable] matches ErrQueueFull, too, if the event was
	// accepted and then dropped as the oldest.
	ErrQueueFull = queue.ErrFull // "footfall: queue full: the event was not accepted"

	// ErrClosed is returned by Track after Close was called. The event was not
	// accepted; Stats.Refused counts it.
	ErrClosed = queue.ErrClosed // "footfall: tracker closed: the event was not accepted"

	// ErrNoURL is returned by Track when neither the event, nor the context, nor
	// Config.DefaultURL has a URL. The API requires a URL for every event.
	ErrNoURL = errors.New("footfall: the event has no URL: set Event.URL, use the middleware or WithURL, or set Config.DefaultURL")

	// ErrNoTracker is returned by the function [Track] if the context comes from neither the
	// middleware nor [WithTracker], or if Config.NoContextValue is set. The event is lost and
	// not counted.
	ErrNoTracker = errors.New("footfall: no tracker in the context: pass the context of a request below the middleware (in gin c.Request.Context())")

	// ErrNotFound matches an [*APIError] whose code is not_found: the account has no such site.
	ErrNotFound = errors.New("footfall: not found")
)

// FieldError reports a wrong field of an event, a Config or a Rule. It never repeats the API key, a
// URL, the name of an event or the value of a prop, which may be personal or secret. It may repeat
// numbers and hosts of a Config, the beginning of an environment variable that is true or false, and
// the route and the wildcards of a Rule. Field has the key of a prop, shortened.
type FieldError struct {
	Field  string // such as `name`, `props["plan"]` or `Config.BaseURL`
	Reason string
}

func (e *FieldError) Error() string { return "footfall: " + e.Field + ": " + e.Reason }

// APIError is an answer of the API other than success.
//
// Code, Message and Status come from the API's error body, which is a JSON object with the fields
// error, message and status. If the answer has no such body, Code is empty
// and Message says what to check and has the beginning of the answer, at most 512 bytes and without
// the API key.
type APIError struct {
	Code    string // machine-readable, such as "not_found"; may be empty
	Message string // for humans
	Status  int    // HTTP status code

	by string // what answered, if it is not the API
}

// Error describes the answer. If it is a 401 or 403, the text names the field of the key.
func (e *APIError) Error() string {
	text := e.withoutHint()
	if e.Code != "" && e.by == "" && e.refusesKey() { // without a code, Message says what to check
		text += "; check Config.APIKey"
	}
	return text
}

func (e *APIError) withoutHint() string {
	if e.Code == "" {
		return fmt.Sprintf("footfall: the server answered %d: %s", e.Status, e.Message) // perhaps not the API
	}
	return fmt.Sprintf("footfall: %s answered %d %s: %s", cmp.Or(e.by, "the API"), e.Status, e.Code, e.Message)
}

// refusesKey reports whether the answer says that the key is refused. After a 403 it may be something else.
func (e *APIError) refusesKey() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Is makes errors.Is(err, ErrNotFound) true for the API's own not_found only. A 404 of a proxy
// or of a wrong path is not a missing site.
func (e *APIError) Is(target error) bool {
	return target == ErrNotFound && e.Code == "not_found"
}

// failure returns the error of an answer that is not success. by is what answered, if it is not the API.
func failure(a *wire.Answer, by string) error {
	if a.Err != nil {
		return a.Err
	}
	code, message := a.Reason()
	return &APIError{Code: code, Message: message, Status: a.Status, by: by}
}

// RejectedError is passed to Config.OnRejected for an accepted event that the API refused for good.
// The event is not sent again.
type RejectedError struct {
	ID   string // the Idempotency-Key of its requests: Event.ID, or else the EventID as text
	Body []byte // the event as it was sent, JSON; the receiver may keep it
	Err  error  // why, usually an *APIError
}

// Error names the event, by name, site and id, and why the API refused it. If the site does not exist,
// it says where to set it, and if the site is paused, that it can be resumed.
func (e *RejectedError) Error() string {
	siteID, name := e.siteAndName()
	event := e.ID
	if siteID != "" || name != "" {
		event = fmt.Sprintf("%s of %s (%s)", shown(name), shown(siteID), event)
	}
	return "footfall: event " + event + " rejected: " + withoutPrefix(e.Err) + e.siteHint(siteID)
}

// siteAndName returns the site and the name of the event, or "".
func (e *RejectedError) siteAndName() (siteID, name string) {
	var event struct {
		SiteID string `json:"site_id"`
		Name   string `json:"name"`
	}
	_ = json.Unmarshal(e.Body, &event) // of another transport, it may be anything
	return event.SiteID, event.Name
}

// shown returns text of the application for an error: its beginning, quoted if it is not a word.
func shown(text string) string {
	text = text[:min(len(text), maxLogged)]
	if text != "" && chars.IsToken(text) {
		return text
	}
	return strconv.Quote(text)
}

// sitePaused is the code of the collector for an event of a site whose tracking is paused.
const sitePaused = "site_paused"

// siteHint returns what to add to the refusal of an event whose site is paused, does not exist, or looks
// like a domain.
func (e *RejectedError) siteHint(siteID string) string {
	answer, answered := errors.AsType[*APIError](e.Err)
	switch {
	case answered && answer.Code == sitePaused:
		return "; resume the site in its settings in the dashboard"
	case looksLikeDomain(siteID):
		return "; its site_id looks like a domain: use the id of the site (see Tracker.Check)"
	case errors.Is(e.Err, ErrNotFound):
		return "; set Config.SiteID, or the site of the event, to the id of a site of the account (Tracker.Check lists them)"
	}
	return ""
}

// looksLikeDomain reports whether id is a URL, or a host whose last label has letters only. The
// contract refers to sites by id, never by domain. It does not fix the form of an id, so an id with dots
// is not refused before the API has refused the event.
func looksLikeDomain(id string) bool {
	_, label, dotted := strings.Cut(hostname(id), ".")
	label = label[strings.LastIndexByte(label, '.')+1:]
	isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	letters := len(label) >= 2 && strings.IndexFunc(label, func(r rune) bool { return !isLetter(r) }) < 0
	return strings.Contains(id, "://") || dotted && letters && isHost(id)
}

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Err }

// withoutPrefix returns the text of err for use in another error of the package.
func withoutPrefix(err error) string {
	return strings.TrimPrefix(fmt.Sprint(err), "footfall: ")
}

// eventError says why TrackDurable returned before the event was safe, or which event an error of Track is about.
type eventError struct {
	text string
	err  error
}

func (e *eventError) Error() string { return "footfall: " + e.text + ": " + withoutPrefix(e.err) }

func (e *eventError) Unwrap() error { return e.err }

// lateError is the end of a context and the last failure before it.
type lateError struct{ ended, last error }

func (e *lateError) Error() string {
	return e.ended.Error() + "; the last attempt failed: " + withoutPrefix(e.last)
}

func (e *lateError) Unwrap() []error { return []error{e.ended, e.last} }

// silentError is the end of a context before any attempt to deliver the events in question has failed.
type silentError struct {
	ended  error
	waited time.Duration // by the call that had the context
}

func (e *silentError) Error() string {
	return fmt.Sprintf("%v; no attempt has failed in the %v of this call", e.ended, milliseconds(e.waited))
}

func (e *silentError) Unwrap() error { return e.ended }

// milliseconds returns how long a call has waited, for its error.
func milliseconds(d time.Duration) time.Duration {
	return max(time.Millisecond, d.Round(time.Millisecond))
}

// because returns the reason why events are not settled: the end of a context, if ended is not
// nil, and the last failure of an attempt. If none has failed, it says how long the call has waited.
func because(ended, last error, waited time.Duration) error {
	switch {
	case ended == nil:
		return cmp.Or(last, queue.ErrStopped)
	case last != nil && last != context.Canceled: // which is an attempt that was cut off
		return &lateError{ended, last}
	case waited > 0 && (errors.Is(ended, context.DeadlineExceeded) || errors.Is(ended, context.Canceled)):
		return &silentError{ended, waited}
	}
	return ended
}

// FlushError is the error of [Tracker.Flush] if it returned before all events were settled.
// They stay queued, unless the transport has stopped.
type FlushError struct {
	Unsettled uint64        // events that are not settled, including events accepted since the call
	Err       error         // the end of Flush's context, or that the transport has stopped
	Cause     error         // why the last attempt failed, such as an [*APIError]; nil if none did
	Waited    time.Duration // from the call of Flush to its end
}

func (e *FlushError) Error() string {
	what := "events"
	if e.Unsettled == 1 {
		what = "event"
	}
	return fmt.Sprintf("footfall: flush: %d %s not settled yet: %s", e.Unsettled, what, withoutPrefix(because(e.Err, e.Cause, e.Waited)))
}

// Unwrap returns Err, and Cause if there is one.
func (e *FlushError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// CloseError is the error of [Tracker.Close] if events were lost. It counts the outcomes of the
// events that were queued, or stored by the Transport, when Close was called. The four counts
// add up to the number of those events.
type CloseError struct {
	Delivered uint64
	Rejected  uint64
	Stored    uint64 // kept by the Transport, on disk or in a stream, including events from before Close
	Lost      uint64
	Err       error // why events were lost: the end of Close's context, the last failed attempt, or both
}

func (e *CloseError) Error() string {
	return fmt.Sprintf("footfall: close: lost %d of %d events (delivered %d, rejected %d, stored %d): %s",
		e.Lost, e.Delivered+e.Rejected+e.Stored+e.Lost, e.Delivered, e.Rejected, e.Stored, withoutPrefix(e.Err))
}

// Unwrap returns why events were lost.
func (e *CloseError) Unwrap() error { return e.Err }

// problems are the problems of a Config.
type problems []error

// report adds a problem, unless reason is empty.
func (p *problems) report(field, reason string) {
	if reason != "" {
		*p = append(*p, &FieldError{"Config." + field, reason})
	}
}

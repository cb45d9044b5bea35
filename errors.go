package footfall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/footfall-dev/footfall/internal/queue"
	"github.com/footfall-dev/footfall/internal/wire"
)

// Errors that callers compare with errors.Is.
var (
	// ErrQueueFull is returned by Track when the event would exceed
	// Config.MaxQueueEvents or Config.MaxQueueBytes. The event was not
	// accepted; Stats.Refused counts it.
	ErrQueueFull = queue.ErrFull // "footfall: queue full: the event was not accepted"

	// ErrClosed is returned by Track after Close was called. The event was not
	// accepted; Stats.Refused counts it.
	ErrClosed = queue.ErrClosed // "footfall: tracker closed: the event was not accepted"

	// ErrNoURL is returned by Track when neither the event, nor the context,
	// nor Config.DefaultURL says where the event occurred. The API requires a
	// URL of every event.
	ErrNoURL = errors.New("footfall: url: none: set Event.URL, use the middleware or WithURL, or set Config.DefaultURL")

	// ErrNoTracker is returned by the package function Track when the context
	// comes from neither the middleware nor WithTracker, or Config.NoContextValue is
	// set. The event is lost, and counted nowhere.
	ErrNoTracker = errors.New("footfall: no tracker in the context: it is not the context of a request below the middleware (in gin that is c.Request.Context())")

	// ErrNotFound matches an *APIError by which the API says that no such site
	// exists in the account (contract, section Errors).
	ErrNotFound = errors.New("footfall: not found")
)

// FieldError says which field of an event, a Config or a Rule is wrong, and why.
// It never repeats the value, which may be personal or secret.
type FieldError struct {
	Field  string // such as `name`, `props["plan"]` or `Config.BaseURL`
	Reason string
}

func (e *FieldError) Error() string { return "footfall: " + e.Field + ": " + e.Reason }

// APIError is an answer of the API other than success.
//
// Code, Message and Status are those of the API's error body (contract, section
// Errors). An answer without such a body, which the contract does not document,
// leaves Code empty and has the beginning of what came back in Message, at most
// 512 bytes and without the API key.
type APIError struct {
	Code    string // machine-readable, such as "not_found"
	Message string // for humans
	Status  int    // HTTP status code
}

func (e *APIError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("footfall: the API answered %d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("footfall: the API answered %d %s: %s", e.Status, e.Code, e.Message)
}

// Is makes errors.Is(err, ErrNotFound) true for the API's own not_found, and for
// nothing else: a 404 of a proxy or of a wrong path is not a missing site.
func (e *APIError) Is(target error) bool {
	return target == ErrNotFound && e.Code == "not_found"
}

// failure says why an answer is not success.
func failure(a *wire.Answer) error {
	if a.Err != nil {
		return a.Err
	}
	code, message := a.Reason()
	return &APIError{Code: code, Message: message, Status: a.Status}
}

// RejectedError is what Config.OnError receives for an accepted event that the
// API refused for good: it is not sent again.
type RejectedError struct {
	ID   uuid.UUID // the Idempotency-Key the event was sent with
	Body []byte    // the event as it was sent, JSON; the receiver may keep it
	Err  error     // why, usually an *APIError
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("footfall: event %s rejected: %v", e.ID, e.Err)
}

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Err }

// lateError is the end of a context and the last failure before it.
type lateError struct{ ended, last error }

func (e *lateError) Error() string {
	return e.ended.Error() + "; the last attempt failed: " + strings.TrimPrefix(e.last.Error(), "footfall: ")
}

func (e *lateError) Unwrap() []error { return []error{e.ended, e.last} }

// because joins the end of a context, if that was the cause, and the last failure.
func because(ended, last error) error {
	switch {
	case ended == nil:
		return cmp.Or(last, queue.ErrStopped)
	case last == nil || last == context.Canceled: // an attempt that was cut off
		return ended
	}
	return &lateError{ended, last}
}

// FlushError says why [Tracker.Flush] returned before all events were settled. They stay
// queued, unless the transport has stopped.
type FlushError struct {
	Unsettled uint64 // events that are not settled, those accepted since Flush was called included
	Err       error  // the end of Flush's context, or that the transport has stopped
	Cause     error  // why the last attempt failed, such as an [*APIError]; nil if none did
}

func (e *FlushError) Error() string {
	return fmt.Sprintf("footfall: flush: %d events not settled yet: %v", e.Unsettled, because(e.Err, e.Cause))
}

// Unwrap returns Err, and Cause if there is one.
func (e *FlushError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}

// CloseError is the account that Close gives when events were lost: what became
// of the events that were queued, or stored by the Transport, when Close was called.
// The four counts add up to that number.
type CloseError struct {
	Delivered uint64
	Rejected  uint64
	Stored    uint64 // kept on disk by a Transport that can, those from before Close included
	Lost      uint64
	Err       error // why events were lost: the end of Close's context, the last failed attempt, or both
}

func (e *CloseError) Error() string {
	return fmt.Sprintf("footfall: close: lost %d of %d events (delivered %d, rejected %d, stored %d): %v",
		e.Lost, e.Delivered+e.Rejected+e.Stored+e.Lost, e.Delivered, e.Rejected, e.Stored, e.Err)
}

// Unwrap returns why events were lost.
func (e *CloseError) Unwrap() error { return e.Err }

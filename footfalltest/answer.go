package footfalltest

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Answer handles one event of an API, instead of the documented answer.
type Answer func(a *API, w http.ResponseWriter, r *http.Request, e Event)

// Accept counts the event and answers 202, as without an Answer.
func Accept() Answer {
	return func(a *API, w http.ResponseWriter, _ *http.Request, e Event) { a.accept(w, e) }
}

// Status answers with the status and the API's error body.
func Status(status int) Answer {
	return func(_ *API, w http.ResponseWriter, _ *http.Request, _ Event) {
		writeError(w, status, "scripted", "the test asked for this answer")
	}
}

// RetryAfter answers 429 with a Retry-After header as given: seconds, a date, or
// garbage.
func RetryAfter(value string) Answer {
	return func(_ *API, w http.ResponseWriter, _ *http.Request, _ Event) {
		w.Header().Set("Retry-After", value)
		writeError(w, http.StatusTooManyRequests, "rate_limited", "too many requests")
	}
}

// Body answers with the status and a body that need not be the API's.
func Body(status int, contentType, body string) Answer {
	return func(_ *API, w http.ResponseWriter, _ *http.Request, _ Event) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may be gone
	}
}

// Redirect answers with the status and a Location.
func Redirect(status int, location string) Answer {
	return func(_ *API, w http.ResponseWriter, _ *http.Request, _ Event) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}
}

// Hang never answers: it ends when the client gives up or the API closes.
func Hang() Answer {
	return func(a *API, _ http.ResponseWriter, r *http.Request, _ Event) { a.hang(r.Context()) }
}

// Delay waits before it gives another answer.
func Delay(d time.Duration, then Answer) Answer {
	return func(a *API, w http.ResponseWriter, r *http.Request, e Event) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			then(a, w, r, e)
		case <-r.Context().Done():
		case <-a.ending:
		}
	}
}

// Reset breaks the connection without an answer.
func Reset() Answer {
	return func(*API, http.ResponseWriter, *http.Request, Event) { panic(http.ErrAbortHandler) }
}

// AcceptThenReset counts the event and breaks the connection before the answer.
func AcceptThenReset() Answer {
	return func(a *API, _ http.ResponseWriter, _ *http.Request, e Event) {
		a.count(e)
		panic(http.ErrAbortHandler)
	}
}

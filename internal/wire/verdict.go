package wire

import (
	"encoding/json"
	"net/http"
)

// Verdict is what an answer means for the event that was sent and for the events that wait.
type Verdict uint8

const (
	Accepted Verdict = iota // settled
	Refused                 // this event is bad: settled, never retried
	Later                   // not now: retry
	BadKey                  // the key is bad: hold everything
	NotAPI                  // the server is not the API: hold everything
)

// Verdict returns the meaning of the answer to POST /v1/events. The contract documents 202 and
// the error body. Other answers follow RFC 9110, and an event is given up only if the API
// itself says that the event is bad: a 4xx without the error body may come from a proxy, or from
// another server.
func (a *Answer) Verdict() Verdict {
	switch s := a.Status; {
	case a.Err != nil:
		return Later
	case s == http.StatusAccepted:
		if saysRefused(a.Body) {
			return Refused
		}
		return Accepted
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return BadKey
	case isTemporary(s):
		return Later
	case s < 400, s == http.StatusProxyAuthRequired:
		return NotAPI
	}
	if _, ok := a.errorBody(); ok {
		return Refused
	}
	if a.Cut != nil {
		return Later // the API may have sent it
	}
	return NotAPI
}

// isTemporary reports whether a later request may be answered otherwise.
func isTemporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests || status >= 500
}

func saysRefused(body []byte) bool {
	if string(body) == `{"accepted":true}` {
		return false
	}
	var said struct{ Accepted *bool }
	return json.Unmarshal(body, &said) == nil && said.Accepted != nil && !*said.Accepted
}

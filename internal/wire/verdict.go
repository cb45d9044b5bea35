package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Verdict is what an answer of the API means for the event that was sent and for
// those that wait behind it.
type Verdict uint8

const (
	Accepted Verdict = iota // settled
	Refused                 // this event is bad: settled, never retried
	Later                   // not now: retry
	BadKey                  // the key is bad: hold everything
	NotAPI                  // whoever answered is not the API: hold everything
)

// Verdict says what the answer to POST /v1/events means. The contract documents
// 202 and the error body; the rest follows RFC 9110 and the rule that an event
// is given up only when the API itself said that it is bad.
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
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return Later
	case s < 400, s == http.StatusProxyAuthRequired:
		return NotAPI
	case (s == http.StatusNotFound || s == http.StatusMethodNotAllowed) && !isErrorBody(a):
		if a.Cut != nil {
			return Later // it might have been the API's
		}
		return NotAPI
	}
	return Refused
}

func saysRefused(body []byte) bool {
	if string(body) == `{"accepted":true}` {
		return false
	}
	var said struct{ Accepted *bool }
	return json.Unmarshal(body, &said) == nil && said.Accepted != nil && !*said.Accepted
}

// errorBody is the error shape of the contract, section Errors.
type errorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// isErrorBody reports whether the answer has the API's error body: a code, and
// the status repeated.
func isErrorBody(a *Answer) bool {
	var b errorBody
	return json.Unmarshal(a.Body, &b) == nil && b.Error != "" && b.Status == a.Status
}

// Reason says why the answer is not success: the code and the message of the API's error
// body, or what came in its place.
func (a *Answer) Reason() (code, message string) {
	if a.Status == http.StatusAccepted && saysRefused(a.Body) {
		return "", "accepted is false"
	}
	var b errorBody
	if isErrorBody(a) && json.Unmarshal(a.Body, &b) == nil {
		return bounded(a.scrub(b.Error), 64), bounded(a.scrub(b.Message), maxMessage)
	}
	return "", describe(a)
}

// Excerpt returns the beginning of text, without the key.
func (a *Answer) Excerpt(text string) string { return bounded(a.scrub(text), maxMessage) }

// maxMessage bounds what an error repeats of an answer, in bytes.
const maxMessage = 512

// describe says what an answer without the API's error body means, and what to check.
func describe(a *Answer) string {
	text := bounded(strings.Join(strings.Fields(a.scrub(string(a.Body))), " "), maxMessage/2)
	came := "not the API's error body: " + text
	if text == "" {
		came = "no body"
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		return "the key is refused; check APIKey; " + came
	case a.Status == http.StatusForbidden:
		return "the key is refused, or a firewall refuses this request; check APIKey; " + came
	case a.Status >= 300 && a.Status < 400:
		return "a redirect, which is never followed; check BaseURL"
	case text == "":
		return came + "; check BaseURL if this is not expected"
	}
	return came
}

func (a *Answer) scrub(text string) string {
	if a.Key == nil {
		return text
	}
	return scrub(text, a.Key())
}

// scrub removes the key: as it is, and as encoders of JSON write it.
func scrub(text, key string) string {
	quoted, _ := json.Marshal(key) // of a string, which cannot fail
	plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key)
	for _, form := range []string{key, string(quoted[1 : len(quoted)-1]), plain} {
		text = strings.ReplaceAll(text, form, "[key]")
		text = strings.ReplaceAll(text, strings.ReplaceAll(form, "/", `\/`), "[key]")
	}
	return text
}

// bounded cuts s to n bytes at a character's edge.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

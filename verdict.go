package footfall

import (
	"encoding/json"
	"net/http"
	"strings"
)

// verdict is what an answer of the API means for the event that was sent and for
// those that wait behind it.
type verdict uint8

const (
	accepted verdict = iota // settled
	refused                 // this event is bad: settled, never retried
	later                   // not now: retry
	badKey                  // the key is bad: hold everything
	notAPI                  // whoever answered is not the API: hold everything
)

// judge says what the answer to POST /v1/events means. The contract documents
// 202 and the error body; the rest follows RFC 9110 and the rule that an event
// is given up only when the API itself said that it is bad.
func judge(a *answer) verdict {
	switch s := a.status; {
	case a.err != nil:
		return later
	case s == http.StatusAccepted:
		if saysRefused(a.body) {
			return refused
		}
		return accepted
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		return badKey
	case s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusTooManyRequests, s >= 500:
		return later
	case s < 400, s == http.StatusProxyAuthRequired:
		return notAPI
	case (s == http.StatusNotFound || s == http.StatusMethodNotAllowed) && !isErrorBody(a):
		if a.cut != nil {
			return later // it might have been the API's
		}
		return notAPI
	}
	return refused
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
func isErrorBody(a *answer) bool {
	var b errorBody
	return json.Unmarshal(a.body, &b) == nil && b.Error != "" && b.Status == a.status
}

// failure says why the answer is not success.
func (a *answer) failure() error {
	if a.err != nil {
		return a.err
	}
	return apiError(a)
}

// refusal says why an event was refused; 202 can be a refusal too.
func (a *answer) refusal() error {
	if a.status == http.StatusAccepted {
		return &APIError{Message: "accepted is false", Status: a.status}
	}
	return apiError(a)
}

// apiError turns an answer that is not success into an error.
func apiError(a *answer) *APIError {
	var b errorBody
	if isErrorBody(a) && json.Unmarshal(a.body, &b) == nil {
		return &APIError{Code: bounded(a.scrub(b.Error), 64), Message: bounded(a.scrub(b.Message), maxMessage), Status: a.status}
	}
	return &APIError{Message: describe(a), Status: a.status}
}

// maxMessage bounds what an error repeats of an answer, in bytes.
const maxMessage = 512

// describe says what an answer without the API's error body means, and what to check.
func describe(a *answer) string {
	text := bounded(strings.Join(strings.Fields(a.scrub(string(a.body))), " "), maxMessage/2)
	came := "not the API's error body: " + text
	if text == "" {
		came = "no body"
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return "the key is refused; check APIKey; " + came
	case a.status == http.StatusForbidden:
		return "the key is refused, or a firewall refuses this request; check APIKey; " + came
	case a.status >= 300 && a.status < 400:
		return "a redirect, which is never followed; check BaseURL"
	case text == "":
		return came + "; check BaseURL if this is not expected"
	}
	return came
}

func (a *answer) scrub(text string) string {
	if a.key == nil {
		return text
	}
	return scrub(text, a.key())
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

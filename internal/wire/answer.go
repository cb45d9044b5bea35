package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Answer is the API's answer to one request: a status with the beginning of the body, or an
// error of the network.
type Answer struct {
	Status     int
	Body       []byte
	RetryAfter string        // the header of that name
	Date       string        // the header of that name
	Err        error         // there was no answer
	Cut        error         // why Body is not all of the body
	Key        func() string // the API key, which a server may repeat; nil if there is none
}

// errorBody is the API's error body, which docs/delivery.md describes.
type errorBody struct {
	Error   string `json:"error"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// errorBody returns the API's error body, which has a code and repeats the status, and false
// if the answer has another body.
func (a *Answer) errorBody() (b errorBody, ok bool) {
	ok = json.Unmarshal(a.Body, &b) == nil && b.Error != "" && b.Status == a.Status
	return b, ok
}

// Reason returns why the answer is not success: the code and the message of the API's error
// body, or a description of any other answer.
func (a *Answer) Reason() (code, message string) {
	if a.Status == http.StatusAccepted && saysRefused(a.Body) {
		return "", "accepted is false"
	}
	if b, ok := a.errorBody(); ok {
		return bounded(a.scrub(b.Error), 64), bounded(a.scrub(b.Message), maxMessage)
	}
	return "", a.describe()
}

// Excerpt returns the beginning of text, without the key.
func (a *Answer) Excerpt(text string) string { return bounded(a.scrub(text), maxMessage) }

// maxMessage bounds the part of an answer that an error repeats, in bytes.
const maxMessage = 512

// maxHTML bounds the part of a page that an error repeats, in bytes. A page says more in its title than
// behind it.
const maxHTML = 64

// describe describes an answer without the API's error body, and says what to check.
func (a *Answer) describe() string {
	text := strings.Join(strings.Fields(a.scrub(string(a.Body))), " ")
	if strings.HasPrefix(text, "<") {
		text = bounded(text, maxHTML)
	}
	text = bounded(text, maxMessage/2)
	came := "not the API's error body: " + text
	if text == "" {
		came = "no body"
	}
	switch s := a.Status; {
	case s == http.StatusUnauthorized:
		return "the key is refused; check Config.APIKey; " + came
	case s == http.StatusForbidden:
		return "the key is refused, or a firewall refuses this request; check Config.APIKey; " + came
	case s >= 300 && s < 400:
		return "a redirect, which is never followed; check BaseURL"
	case isTemporary(s):
		return came + temporaryHint(s, text)
	case text != "":
		came = "the answer begins with " + text
	}
	return "something other than the API answers; check BaseURL; " + came
}

// temporaryHint says what to check after an answer with a temporary status and the given text.
func temporaryHint(status int, text string) string {
	switch {
	case text != "":
		return ""
	case status == http.StatusTooManyRequests:
		return "; the service, or a proxy before it, limits the rate of requests"
	case status >= 500:
		return "; look at the log of the service, and of a proxy before it"
	}
	return ""
}

func (a *Answer) scrub(text string) string {
	if a.Key == nil {
		return text
	}
	return scrub(text, a.Key())
}

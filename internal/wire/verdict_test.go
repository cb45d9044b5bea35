package wire

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

const htmlPage = "<!doctype html><title>Welcome</title>"

// errorOf is the API's error body.
func errorOf(status int, code, message string) string {
	body, _ := json.Marshal(errorBody{Error: code, Message: message, Status: status}) // cannot fail
	return string(body)
}

type verdictRow struct {
	status int
	body   string
	err    error
	want   Verdict
}

// Promise 4 of the design, row by row.
func verdictRows() map[string]verdictRow {
	rows := map[string]verdictRow{
		"202 accepted":                  {202, `{"accepted":true}`, nil, Accepted},
		"202 accepted, spaced":          {202, "{ \"accepted\" : true }\n", nil, Accepted},
		"202 with more fields":          {202, `{"accepted":true,"id":"x"}`, nil, Accepted},
		"202 without a body":            {202, "", nil, Accepted},
		"202 with an empty object":      {202, "{}", nil, Accepted},
		"202 cut short":                 {202, `{"accepted":fal`, nil, Accepted},
		"202 with text":                 {202, "ok", nil, Accepted},
		"202 accepted null":             {202, `{"accepted":null}`, nil, Accepted},
		"202 not accepted":              {202, `{"accepted":false}`, nil, Refused},
		"202 not accepted, and why":     {202, `{"message":"no","accepted": false}`, nil, Refused},
		"404 with the API's error body": {404, errorOf(404, "not_found", "no site"), nil, Refused},
		"405 with the API's error body": {405, errorOf(405, "method_not_allowed", "no"), nil, Refused},
		"404 of a page":                 {404, htmlPage, nil, NotAPI},
		"404 without a body":            {404, "", nil, NotAPI},
		"404 of some other JSON":        {404, `{"message":"no Route matched with those values"}`, nil, NotAPI},
		"404 of another status inside":  {404, errorOf(400, "not_found", "no"), nil, NotAPI},
		"404 without a code":            {404, errorOf(404, "", "no"), nil, NotAPI},
		"404 cut short":                 {404, errorOf(404, "not_found", "no")[:30], nil, NotAPI},
		"405 of a page":                 {405, htmlPage, nil, NotAPI},
		"407 of a proxy":                {407, htmlPage, nil, NotAPI},
		"407 with an error body":        {407, errorOf(407, "x", "y"), nil, NotAPI},
		"200 of the API's words":        {200, `{"accepted":true}`, nil, NotAPI},
		"200 of a login page":           {200, htmlPage, nil, NotAPI},
		"network error":                 {0, "", io.ErrUnexpectedEOF, Later},
		"timeout":                       {0, "", context.DeadlineExceeded, Later},
		"error after a status":          {202, `{"accepted":true}`, io.ErrUnexpectedEOF, Later},
	}
	add := func(name string, want Verdict, statuses ...int) {
		for _, s := range statuses {
			for kind, body := range map[string]string{"error body": errorOf(s, "code", "message"), "page": htmlPage, "nothing": ""} {
				rows[name+", "+http.StatusText(s)+" with "+kind] = verdictRow{s, body, nil, want}
			}
		}
	}
	for _, s := range []int{400, 402, 413, 422, 451} {
		rows["of a proxy, "+http.StatusText(s)] = verdictRow{s, htmlPage, nil, NotAPI}
		rows["of nobody, "+http.StatusText(s)] = verdictRow{s, "", nil, NotAPI}
		rows["of the API, "+http.StatusText(s)] = verdictRow{s, errorOf(s, "code", "message"), nil, Refused}
	}
	add("the key is bad", BadKey, 401, 403)
	add("this is not the API", NotAPI, 101, 200, 201, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307, 308)
	add("not now", Later, 408, 425, 429, 500, 501, 502, 503, 504, 507, 508, 511)
	return rows
}

func TestVerdictOfEveryAnswer(t *testing.T) {
	t.Parallel()
	for name, row := range verdictRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := Answer{Status: row.status, Body: []byte(row.body), Err: row.err}
			assert.Equal(t, row.want, a.Verdict())
			if row.want != Accepted && row.err == nil {
				_, message := a.Reason()
				assert.NotEmpty(t, message)
			}
		})
	}
}

func TestVerdictOfEveryStatusIsOneOfTheTable(t *testing.T) {
	t.Parallel()
	for status := 100; status < 1000; status++ {
		a := Answer{Status: status}
		got := a.Verdict()
		assert.Equal(t, status == 202, got == Accepted, "only 202 accepts, not %d", status)
		if status >= 500 {
			assert.Equal(t, Later, got, "%d", status)
		}
		if got == Refused {
			assert.True(t, status >= 400 && status < 500, "%d gives an event up", status)
		}
	}
}

func TestBoundedCutsAtACharacter(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		n    int
		want string
	}{
		"fits":                {"abc", 3, "abc"},
		"empty":               {"", 3, ""},
		"one too many":        {"abcdef", 5, "ab…"},
		"inside a character":  {"aéééé", 6, "aé…"},
		"at its edge":         {"éééé", 7, "éé…"},
		"nothing left":        {"éééé", 3, "…"},
		"bad bytes are named": {"\xff", 3, "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bounded(row.text, row.n)
			assert.Equal(t, row.want, got)
			assert.LessOrEqual(t, len(got), row.n)
		})
	}
}

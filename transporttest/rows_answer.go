package transporttest

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// answerRows test the meaning of answers.
var answerRows = []row{
	{"answers that accept", answersThatAccept},
	{"answers that reject are reported and never retried", answersThatReject},
	{"answers that mean not now are retried with the same key and bytes", answersThatMeanNotNow},
	{"answers that hold all events are logged at ERROR once and probed", answersThatHold},
	{"redirects are never followed", redirectsAreNeverFollowed},
}

const login = "<!doctype html><title>Log in</title>"

func each(t *testing.T, answers map[string]footfalltest.Answer, run func(*testing.T, *footfalltest.API)) {
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			api.Next(answer)
			run(t, api)
		})
	}
}

// eachTwice runs with an API that gives each answer twice.
func eachTwice(t *testing.T, answers map[string]footfalltest.Answer, run func(*testing.T, *footfalltest.API)) {
	twice := make(map[string]footfalltest.Answer)
	for name, answer := range answers {
		twice[name] = func(api *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
			if len(api.Requests()) == 1 {
				api.Next(answer)
			}
			answer(api, w, r, e)
		}
	}
	each(t, twice, run)
}

// statuses adds one answer per status, each with the API's error body.
func statuses(answers map[string]footfalltest.Answer, statuses ...int) map[string]footfalltest.Answer {
	for _, s := range statuses {
		answers[fmt.Sprint(s)] = footfalltest.Status(s)
	}
	return answers
}

func answersThatAccept(t *testing.T, open Open) {
	answers := make(map[string]footfalltest.Answer)
	for name, body := range map[string]string{
		"accepted": `{"accepted":true}`, "spaced": "{ \"accepted\" : true }\n", "empty": "", "not JSON": "ok",
		"another shape": `{"queued":1}`, "null": `{"accepted":null}`,
	} {
		answers[name] = footfalltest.Body(202, "text/plain", body)
	}
	each(t, answers, func(t *testing.T, api *footfalltest.API) {
		r := start(t, open, api.Config())
		r.deliver(t, 1)
		r.counts(t, 1, 0)
		assert.Len(t, api.Requests(), 1)
	})
}

func answersThatReject(t *testing.T, open Open) {
	answers := statuses(map[string]footfalltest.Answer{
		"202 accepted:false": footfalltest.Body(202, "application/json", `{"accepted":false}`),
	}, 400, 402, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451)
	each(t, answers, func(t *testing.T, api *footfalltest.API) {
		r := start(t, open, api.Config())
		r.deliver(t, 1)
		r.deliver(t, 1)
		r.counts(t, 1, 1)
		assert.Len(t, api.Requests(), 2)
		require.Len(t, r.rejections(), 1)
		rejected := r.rejections()[0]
		assert.Equal(t, api.Requests()[0].ID, rejected.ID)
		assert.Equal(t, api.Requests()[0].Body, rejected.Body)
		var apiErr *footfall.APIError
		assert.ErrorAs(t, rejected, &apiErr)
	})
}

// sameOnEveryAttempt fails unless there were n requests, all for one event.
func sameOnEveryAttempt(t *testing.T, api *footfalltest.API, n int) {
	t.Helper()
	requests := api.Requests()
	require.Len(t, requests, n)
	for _, got := range requests {
		assert.Equal(t, requests[0].ID, got.ID)
		assert.Equal(t, string(requests[0].Body), string(got.Body))
	}
}

func answersThatMeanNotNow(t *testing.T, open Open) {
	answers := statuses(map[string]footfalltest.Answer{
		"503 of a proxy": footfalltest.Body(503, "text/html", "<h1>busy</h1>"),
		"no answer":      footfalltest.Reset(),
	}, 408, 425, 429, 500, 501, 502, 503, 504, 507, 511)
	each(t, answers, func(t *testing.T, api *footfalltest.API) {
		r := start(t, open, api.Config())
		r.deliver(t, 1)
		r.counts(t, 1, 0)
		sameOnEveryAttempt(t, api, 2)
		assert.Empty(t, r.String(), "a temporary failure is not reported")
	})
}

func answersThatHold(t *testing.T, open Open) {
	answers := statuses(map[string]footfalltest.Answer{
		"200 of a login page": footfalltest.Body(200, "text/html", login),
		"200 of the API":      footfalltest.Body(200, "application/json", `{"accepted":true}`),
		"204": func(_ *footfalltest.API, w http.ResponseWriter, _ *http.Request, _ footfalltest.Event) {
			w.WriteHeader(204)
		},
		"401 of a proxy":        footfalltest.Body(401, "text/html", login),
		"404 of a web server":   footfalltest.Body(404, "text/html", login),
		"404 without a body":    footfalltest.Body(404, "text/plain", ""),
		"404 of somebody's API": footfalltest.Body(404, "application/json", `{"detail":"Not Found"}`),
		"404 of another status": footfalltest.Body(404, "application/json", `{"error":"x","message":"y","status":400}`),
		"405 of a web server":   footfalltest.Body(405, "text/html", login),
	}, 201, 203, 401, 403, 407)
	eachTwice(t, answers, func(t *testing.T, api *footfalltest.API) {
		r := start(t, open, api.Config())
		r.deliver(t, 1)
		r.counts(t, 1, 0)
		sameOnEveryAttempt(t, api, 3)
		logged := func() bool { return r.Lines(slog.LevelError) == 1 && r.Lines(slog.LevelInfo) == 1 }
		require.Eventually(t, logged, patience, time.Millisecond, "says why, and that it goes on: %s", r)
	})
}

func redirectsAreNeverFollowed(t *testing.T, open Open) {
	var followed atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	t.Cleanup(thief.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		api := footfalltest.NewAPI(t)
		redirect := footfalltest.Redirect(status, thief.URL+"/v1/events")
		api.Next(redirect, redirect)
		r := start(t, open, api.Config())
		r.deliver(t, 1)
		r.counts(t, 1, 0)
		sameOnEveryAttempt(t, api, 3)
		r.says(t, "redirect")
	}
	assert.Zero(t, followed.Load())
}

package footfalltest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrackerKeepsTrackedEvents(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	ctx := footfall.WithURL(context.Background(), "https://example.com/a")
	require.NoError(t, tracker.Track(ctx, "first", footfall.P("plan", "pro"), footfall.P("amount", 5)))
	require.NoError(t, tracker.Track(context.Background(), "second"))
	events := tracker.Events()
	require.Len(t, events, 2)
	assert.NotEqual(t, events[0].ID, events[1].ID)
	events[0].ID = ""
	assert.Equal(t, footfalltest.Event{
		SiteID: footfalltest.SiteID, Name: "first", URL: "https://example.com/a",
		Props: map[string]any{"plan": "pro", "amount": 5.0},
	}, events[0])
	assert.Equal(t, []string{"first", "second"}, tracker.Names())
}

func TestTrackerWorksInsideABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := footfalltest.New(t)
		require.NoError(t, tracker.Track(context.Background(), "tested"))
		assert.Equal(t, []string{"tested"}, tracker.Names())
		require.NoError(t, tracker.Close(context.Background()))
	})
}

func TestTrackerTakesOptions(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.DefaultURL = "" })
	assert.ErrorIs(t, tracker.Track(context.Background(), "tested"), footfall.ErrNoURL)
}

// post sends a body to POST /v1/events as the contract says.
func post(t *testing.T, api *footfalltest.API, id, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", api.URL+"/v1/events", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+footfalltest.Key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", id)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, strings.TrimSpace(string(text))
}

const oneEvent = `{"site_id":"site_test","name":"n","url":"https://example.com/"}`

func TestAPIAnswersAsTheContractSays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body   string
		status int
		answer string
	}{
		"an event":        {oneEvent, 202, `{"accepted":true}`},
		"an unknown site": {strings.Replace(oneEvent, "site_test", "other", 1), 404, `"error":"not_found"`},
		"no name":         {strings.Replace(oneEvent, `"n"`, `""`, 1), 422, `"error":"validation_failed"`},
		"no JSON":         {"no", 400, `"status":400`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.NewAPI(t)
			status, answer := post(t, api, "1", tt.body)
			assert.Equal(t, tt.status, status)
			assert.Contains(t, answer, tt.answer)
			require.Len(t, api.Requests(), 1)
			assert.Equal(t, tt.body, string(api.Requests()[0].Body))
		})
	}
}

func TestAPIListsItsSite(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	client, err := footfall.NewClient(footfall.ClientConfig{BaseURL: api.URL, APIKey: footfalltest.Key})
	require.NoError(t, err)
	sites, err := client.Sites(t.Context())
	require.NoError(t, err)
	require.Len(t, sites, 1)
	one, err := client.Site(t.Context(), sites[0].ID)
	require.NoError(t, err)
	assert.Equal(t, sites[0], one)
	_, err = client.Site(t.Context(), "other")
	assert.ErrorIs(t, err, footfall.ErrNotFound)
}

func TestAPICountsARepeatedEventOnce(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	var told []string
	api.OnEvent(func(e footfalltest.Event) { told = append(told, e.ID) })
	for _, id := range []string{"1", "1", "2", "1"} {
		status, _ := post(t, api, id, oneEvent)
		assert.Equal(t, 202, status)
	}
	assert.Len(t, api.Events(), 2)
	assert.Len(t, api.Requests(), 4)
	assert.Equal(t, []string{"1", "2"}, told)
}

func TestAPIGivesTheAnswersOfNextInOrder(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(503))
	api.Next(footfalltest.RetryAfter("7"), footfalltest.Body(202, "text/plain", "garbage"), footfalltest.Reset(), footfalltest.AcceptThenReset())
	var statuses []int
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		// net/http itself repeats requests with an Idempotency-Key.
		status, _ := post(t, api, id, oneEvent)
		statuses = append(statuses, status)
		http.DefaultClient.CloseIdleConnections()
	}
	assert.Equal(t, []int{429, 202}, statuses[:2])
	assert.Equal(t, 503, statuses[4])
	assert.Len(t, api.Events(), 1)
	api.Always(nil)
	status, _ := post(t, api, "6", oneEvent)
	assert.Equal(t, 202, status)
}

func TestAPIRefusesAnotherKey(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	api.SetKey("another")
	status, answer := post(t, api, "1", oneEvent)
	assert.Equal(t, 401, status)
	assert.Contains(t, answer, `"error":"unauthorized"`)
	assert.Empty(t, api.Events())
}

func TestCloseEndsAnswersThatHang(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]footfalltest.Answer{
		"hang":  footfalltest.Hang(),
		"delay": footfalltest.Delay(time.Hour, footfalltest.Accept()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := footfalltest.StartAPI()
			reached := make(chan struct{})
			api.Always(func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
				close(reached)
				answer(a, w, r, e)
			})
			ended := make(chan int)
			go func() {
				status, _ := post(t, api, "", oneEvent)
				ended <- status
			}()
			<-reached
			api.Close()
			api.Close() // again, harmless
			<-ended
		})
	}
}

func TestLogKeepsTheLinesOfTheTracker(t *testing.T) {
	t.Parallel()
	log := &footfalltest.Log{}
	tracker := footfalltest.New(t, func(c *footfall.Config) { c.Logger = log.Logger() })
	tracker.Middleware(footfall.Rule{Route: "GET pricing", Event: "pricing_viewed"})(http.NotFoundHandler())
	assert.Contains(t, log.String(), "GET pricing")
	assert.Equal(t, strings.Count(log.String(), "\n"), log.Lines(slog.LevelError), log)
	assert.Zero(t, log.Lines(slog.LevelInfo))
}

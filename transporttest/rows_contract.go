package transporttest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// contractRows test the requests.
var contractRows = []row{
	{"an event arrives as the contract says", arrivesAsTheContractSays},
	{"the path of BaseURL precedes the path of the API", pathStandsBefore},
	{"every event has a different id", everyEventHasItsID},
	{"an event keeps its Event.ID in every attempt", eventsKeepTheirID},
	{"two events with one Event.ID are settled both", repeatedIDs},
	{"a rejected event is named by its Event.ID", rejectedEventsAreNamed},
	{"a Config without an API is refused", configIsChecked},
}

func arrivesAsTheContractSays(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config())
	require.NoError(t, r.TrackEvent(t.Context(), footfall.Event{
		Name: "checkout_completed", URL: "https://shop.example.com/thanks?x=<1>&y=2",
		Props: []footfall.Prop{footfall.P("plan", "pro"), footfall.P("amount", 4999)},
	}))
	r.flush(t)
	require.Len(t, api.Requests(), 1)
	got := api.Requests()[0]
	assert.Equal(t, `{"site_id":"site_test","name":"checkout_completed","url":"https://shop.example.com/thanks?x=<1>&y=2","props":{"plan":"pro","amount":4999}}`, string(got.Body))
	assert.Equal(t, http.Header{
		"Authorization":   {"Bearer " + footfalltest.Key},
		"Content-Type":    {"application/json"},
		"Content-Length":  got.Header["Content-Length"],
		"Accept":          {"application/json"},
		"User-Agent":      {got.Header.Get("User-Agent")}, // of the transport
		"Idempotency-Key": {got.ID},
	}, got.Header, "these and no others")
	assert.NotEmpty(t, got.Header.Get("User-Agent"))
	assert.Len(t, got.ID, 36)
	r.counts(t, 1, 0)
}

func pathStandsBefore(t *testing.T, open Open) {
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.Method + " " + r.Host + r.RequestURI
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	start(t, open, config(server.URL+"/a b/ä/")).deliver(t, 1)
	assert.Equal(t, "POST "+server.Listener.Addr().String()+"/a%20b/%C3%A4/v1/events", <-paths)
}

func everyEventHasItsID(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config())
	r.deliver(t, 500)
	ids := make(map[string]bool)
	for _, got := range api.Requests() {
		ids[got.ID] = true
	}
	assert.Len(t, ids, 500)
	assert.Len(t, api.Events(), 500)
}

const webhookID = "evt_1NG8Du2eZvKYlo2C \"x\"~"

func trackWithID(t *testing.T, r *rig, name, id string) {
	t.Helper()
	require.NoError(t, r.TrackEvent(t.Context(), footfall.Event{Name: name, ID: id}))
}

func eventsKeepTheirID(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Next(footfalltest.Status(503), footfalltest.AcceptThenReset(), footfalltest.Status(429))
	r := start(t, open, api.Config())
	trackWithID(t, r, "paid", webhookID)
	r.flush(t)
	sameOnEveryAttempt(t, api, 4)
	assert.Equal(t, webhookID, api.Requests()[0].ID)
	assert.Equal(t, `{"site_id":"site_test","name":"paid","url":"https://example.com/"}`, string(api.Requests()[0].Body))
	r.counts(t, 1, 0)
}

func repeatedIDs(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	r := start(t, open, api.Config())
	for range 3 {
		trackWithID(t, r, "paid", webhookID)
	}
	trackWithID(t, r, "paid", "another")
	r.flush(t)
	r.counts(t, 4, 0)
	assert.Len(t, api.Requests(), 4)
	assert.Len(t, api.Events(), 2, "the service counts each id once")
}

func rejectedEventsAreNamed(t *testing.T, open Open) {
	api := footfalltest.NewAPI(t)
	api.Always(footfalltest.Status(404))
	r := start(t, open, api.Config())
	trackWithID(t, r, "paid", webhookID)
	r.flush(t)
	r.counts(t, 0, 1)
	require.Len(t, r.rejections(), 1)
	assert.Equal(t, webhookID, r.rejections()[0].ID)
	assert.ErrorContains(t, r.rejections()[0], webhookID)
}

func configIsChecked(t *testing.T, open Open) {
	for field, cfg := range map[string]footfall.Config{
		"Config.BaseURL":     {BaseURL: "http://api.example.com", APIKey: key},
		"Config.APIKey":      {BaseURL: "https://api.example.com"},
		"Config.MaxInFlight": {BaseURL: "https://api.example.com", APIKey: key, MaxInFlight: -1},
	} {
		_, err := open(cfg)
		var wrong *footfall.FieldError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, field, wrong.Field)
	}
}

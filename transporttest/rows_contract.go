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

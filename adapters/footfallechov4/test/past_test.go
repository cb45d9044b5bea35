package footfallechov4_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallechov4"
	"github.com/footfall-dev/footfall/footfalltest"
)

// echo does not see what a handler writes to the writer below echo.Response.
func TestAnswerToTheWriterBelowEchoCountsAsTheClientSeesIt(t *testing.T) {
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallechov4.Middleware(tracker.Tracker,
		footfall.Rule{Route: "GET /slow", Event: "answered", Status: footfall.Success},
		footfall.Rule{Route: "GET /slow", Event: "failed", Status: footfall.Status5xx}))
	e.GET("/slow", func(c echo.Context) error {
		c.Response().Writer.WriteHeader(http.StatusServiceUnavailable)
		return nil
	})
	server := httptest.NewServer(e)
	defer server.Close()
	resp, err := http.Get(server.URL + "/slow")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	server.Close()
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "failed", events[0].Name)
}

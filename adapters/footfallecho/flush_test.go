package footfallecho_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallecho"
	"github.com/footfall-dev/footfall/footfalltest"
)

// A flush sends 200, of which echo knows nothing: it takes an error after it for one
// that can still be answered.
func TestErrorAfterAFlushIsRecordedWithTheStatusThatTheClientSaw(t *testing.T) {
	tracker := footfalltest.New(t)
	e := echo.New()
	e.Use(footfallecho.Middleware(tracker.Tracker,
		footfall.Rule{Route: "GET /export", Event: "exported", Status: footfall.Success},
		footfall.Rule{Route: "GET /export", Event: "failed", Status: footfall.Failure}))
	e.GET("/export", func(c *echo.Context) error {
		assert.NoError(t, http.NewResponseController(c.Response()).Flush())
		return errors.New("the database has gone")
	})
	server := httptest.NewServer(e)
	defer server.Close()
	resp, err := http.Get(server.URL + "/export")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	server.Close()
	events := tracker.Events()
	require.Len(t, events, 1)
	assert.Equal(t, "exported", events[0].Name)
}

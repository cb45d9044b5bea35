package transporttest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/internal/version"
)

// agent is a RoundTripper that replaces the User-Agent.
type agent struct {
	name string
	next http.RoundTripper
}

func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", a.name)
	return a.next.RoundTrip(r)
}

func TestATransportMaySendAUserAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	next := &http.Transport{DisableCompression: true}
	t.Cleanup(next.CloseIdleConnections)
	arrivesAsTheContractSays(t, func(cfg footfall.Config) (footfall.Transport, error) {
		cfg.HTTPClient = &http.Client{Transport: agent{"Other/1.0", next}}
		return footfall.NewHTTPTransport(cfg)
	})
}

func TestTheDefaultTransportNamesTheLibraryAndItsVersion(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	start(t, footfall.NewHTTPTransport, api.Config()).deliver(t, 1)
	require.Len(t, api.Requests(), 1)
	assert.Equal(t, []string{version.UserAgent()}, api.Requests()[0].Header["User-Agent"])
}

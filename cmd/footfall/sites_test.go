package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestSitesAreListed(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	got := run(t, envOf(api.URL), "sites")
	assert.Equal(t, result{"ID         DOMAIN       TRACKING  ADDED\nsite_test  example.com  active    2026-01-01\n", "", 0}, got)
	var paused strings.Builder
	require.NoError(t, writeSites(&paused, []footfall.Site{{ID: "site_paused"}}))
	assert.Contains(t, paused.String(), "inactive", "it has events, perhaps")
	got = run(t, envOf(api.URL).with("FOOTFALL_SITE_ID", ""), "sites", "-json")
	var sites []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &sites), got)
	assert.Equal(t, []map[string]any{{"id": "site_test", "domain": "example.com", "created_at": "2026-01-01T00:00:00Z", "tracking_active": true}}, sites)

	got = run(t, envOf(api.URL).with("FOOTFALL_API_KEY", "other"), "sites")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "Config.APIKey")
	assert.Contains(t, got.err, "run footfall doctor for details")
	assert.Empty(t, got.out)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

func TestAnEventIsSent(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	got := run(t, envOf(api.URL), "send", "deploy_finished", "-url", "https://example.com/a,b",
		"-prop", "version=v1.4", "-prop", "seconds=41", "-prop", "share=0.5", "-prop", `zip="10115"`, "-prop", "text=a,b=c", "-prop", "empty=", "-prop", "truth=true", "-prop", "nothing=null")
	assert.Equal(t, result{"accepted: deploy_finished on https://example.com/a,b\n", "", 0}, got)
	require.Len(t, api.Events(), 1)
	e := api.Events()[0]
	assert.Equal(t, "deploy_finished", e.Name)
	assert.Equal(t, "https://example.com/a,b", e.URL)
	assert.Equal(t, map[string]any{"version": "v1.4", "seconds": 41.0, "share": 0.5, "zip": "10115", "text": "a,b=c", "empty": "", "truth": "true", "nothing": "null"}, e.Props)

	got = run(t, envOf(api.URL).with("FOOTFALL_DEFAULT_URL", "https://example.com/"), "send", "-json", "x")
	assert.JSONEq(t, `{"accepted":true,"site_id":"site_test","name":"x","url":"https://example.com/"}`, got.out)

	got = run(t, envOf(api.URL), "send", "-url", "https://example.com/", "-site", "site_other", "x")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "site_other")
	assert.Contains(t, got.err, "footfall sites lists them")
	got = run(t, envOf(api.URL).with("FOOTFALL_API_KEY", "other"), "send", "-url", "https://example.com/", "x")
	assert.Equal(t, 1, got.status)
	assert.Contains(t, got.err, "run footfall doctor for details")
	assert.Len(t, api.Events(), 2)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/doctor"
	"github.com/footfall-dev/footfall/footfalltest"
)

func TestDoctorSaysWhichSegmentsOfAPageAreReplaced(t *testing.T) {
	t.Parallel()
	const slug = "drowsy-kettle-0191e9a6-5c7b-7abc-8def-0123456789ab"
	for name, row := range map[string]struct {
		page, route   string
		level         doctor.Level
		found, remedy string
	}{
		"nothing":              {"/products/drowsy-kettle", "", doctor.Good, "the path is sent as it is", ""},
		"a slug with a UUID":   {"/products/" + slug, "", doctor.Warn, `"` + slug + `" is sent as [redacted], because it looks like a secret`, "name a wildcard there in the route"},
		"of a known route":     {"/products/" + slug, "GET /products/{slug}", doctor.Warn, `"` + slug + `" is sent as {slug}, because`, `Config.AllowPIIKeys to []string{"slug"}`},
		"in another notation":  {"/products/" + slug, "/products/:slug", doctor.Warn, "is sent as {slug}", `[]string{"slug"}`},
		"a wildcard's name":    {"/reset/k3y", "/reset/{key}", doctor.Warn, `"k3y" is sent as {key}, because it looks like a secret or personal data, or its wildcard does`, `[]string{"key"}`},
		"a route for a longer": {"/products/7", "/products/{a}/{b}", doctor.Good, "as it is", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			findings, status := examined(t, envOf(footfalltest.NewAPI(t).URL), "-url", "https://shop.example.com"+row.page+"?ref=x", "-route", row.route)
			assert.Equal(t, 0, status)
			assert.Equal(t, row.level, findings["page"].Level)
			assert.Contains(t, findings["page"].Found, row.found)
			assert.Contains(t, findings["page"].Remedy, row.remedy)
		})
	}
	got := run(t, envOf(footfalltest.NewAPI(t).URL), "doctor", "-url", "https://shop.example.com/products/"+slug)
	assert.Empty(t, got.err, "the tracker's log is not shown")
	assert.Contains(t, got.out, "is sent as [redacted]")
	findings, _ := examined(t, envOf(footfalltest.NewAPI(t).URL))
	assert.Empty(t, findings["page"], "without -url there is nothing to say")
	findings, status := examined(t, envOf(footfalltest.NewAPI(t).URL), "-url", "shop.example.com/a")
	assert.Equal(t, 2, status, "as for any wrong flag")
	assert.Equal(t, doctor.Bad, findings["page"].Level)
	assert.Contains(t, findings["page"].Remedy, "https://")
}

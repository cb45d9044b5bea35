//go:build ci

package generators

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The server of huma describes itself.
func TestPagesThatHumaAdds(t *testing.T) {
	t.Parallel()
	tracker := footfalltest.New(t)
	handler := serveHuma(tracker.Tracker, append(humaPages, footfall.Rule{Route: footfall.AnyRoute})...)
	without := footfalltest.New(t)
	counted := serveHuma(without.Tracker, footfall.Rule{Route: footfall.AnyRoute})
	for _, path := range []string{"/openapi.json", "/openapi.yaml", "/openapi-3.0.json", "/openapi-3.0.yaml", "/docs", "/schemas/HumaAnswerBody.json"} {
		assert.Equal(t, http.StatusOK, ask(handler, "GET", path, "").Code, path)
		ask(counted, "GET", path, "")
	}
	assert.Empty(t, tracker.Names())
	assert.Len(t, without.Names(), 6)
}

package collector

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAServiceThatIsStartingSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	handler := Starting(func() string { return "step 2 of <4>" })
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	for _, path := range []string{"/livez", "/t.js", "/openapi.yaml"} {
		assert.Equal(t, 200, get("GET", path).Code, path)
	}
	for path, method := range map[string]string{"/v1/events": "POST", "/e": "POST", "/v1/sites": "GET", "/healthz": "GET"} {
		w := get(method, path)
		assert.Equal(t, 503, w.Code, path)
		assert.Equal(t, "1", w.Header().Get("Retry-After"), path)
		assert.JSONEq(t, `{"error":"unavailable","message":"the service is starting: step 2 of <4>","status":503}`, w.Body.String(), path)
	}
	for _, path := range []string{"/", "/login", "/sites/x"} {
		w := get("GET", path)
		assert.Equal(t, 503, w.Code, path)
		assert.Contains(t, w.Body.String(), "step 2 of &lt;4&gt;. This page reloads itself.")
		assert.Contains(t, w.Body.String(), `http-equiv="refresh"`)
	}
}

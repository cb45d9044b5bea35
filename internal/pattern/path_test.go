package pattern

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRoutesAsPaths(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]string{
		"":                         "/",
		"GET /":                    "/",
		"GET /{$}":                 "/",
		"POST /user/reset/{key}":   "/user/reset/%7Bkey%7D",
		"/user/reset/:key":         "/user/reset/%7Bkey%7D",
		"GET /files/{path...}":     "/files/%7Bpath%7D",
		"GET /files/*path":         "/files/%7Bpath%7D",
		"GET /files/*":             "/files/*",
		"GET /docs/":               "/docs/",
		"GET /docs/{+...}":         "/docs/+",
		"shop.example.com/a/{id}":  "/a/%7Bid%7D",
		"/a/{id:[0-9]{2,}/x}/b":    "/a/%7Bid%7D/b",
		"/a/:id<int>/b":            "/a/%7Bid%7D/b",
		"/a/:id?":                  "/a/%7Bid%7D",
		"/a/b-{id}.html":           "/a/b-%7Bid%7D.html",
		"/k\u00f6ln/{stra\u00dfe}": "/k%C3%B6ln/%7Bstra%C3%9Fe%7D",
		"/a b/{id}":                "/a%20b/%7Bid%7D",
		"/a%20b/{id}":              "/a%20b/%7Bid%7D",
		"/a/{id":                   "/a/%7B%7Did", // which no router takes
		"*":                        "/*",
		"/100%/{id}":               "/100%25/%7Bid%7D",
		"/shop.v1.CartService/Add": "/shop.v1.CartService/Add",
	} {
		assert.Equal(t, want, string(AppendPath(nil, route)), route)
	}
}

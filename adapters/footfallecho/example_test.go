package footfallecho_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v5"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallecho"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleMiddleware() {
	api := footfalltest.StartAPI() // a stand-in for the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := []footfall.Rule{{Route: "GET /products/:id", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}}}
	e := echo.New()
	e.Use(footfallecho.Middleware(tracker, rules...))
	e.GET("/products/:id", func(c *echo.Context) error { return c.NoContent(http.StatusNoContent) })
	if err := footfallecho.CheckRules(tracker, e, rules...); err != nil {
		fmt.Println(err) // a rule's route is not registered
	}

	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://shop.example.com/products/7", nil))
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// product_viewed https://shop.example.com/products/7 map[id:7]
}

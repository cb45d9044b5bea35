package footfallfiberv2_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/gofiber/fiber/v2"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallfiberv2"
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
	app := fiber.New()
	app.Use(footfallfiberv2.Middleware(tracker, rules...))
	app.Get("/products/:id", func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusNoContent) })
	if err := footfallfiberv2.CheckRules(tracker, app, rules...); err != nil {
		fmt.Println(err) // a rule's route is not registered
	}

	req := httptest.NewRequest("GET", "/products/7", nil)
	req.Host = "shop.example.com"
	resp, err := app.Test(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// product_viewed http://shop.example.com/products/7 map[id:7]
}

package footfallmux_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gorilla/mux"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallmux"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleWrap() {
	api := footfalltest.StartAPI() // a stand-in for the Site Analytics API
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	rules := []footfall.Rule{{Route: "GET /products/{id}", Event: "product_viewed", Status: footfall.Success, PathProps: []string{"id"}}}
	router := mux.NewRouter()
	router.HandleFunc("/products/{id}", func(http.ResponseWriter, *http.Request) {}).Methods("GET")
	if err := footfallmux.CheckRules(tracker, router, rules...); err != nil {
		fmt.Println(err) // a rule's route is not registered
	}

	handler := footfallmux.Wrap(tracker, router, rules...)
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://shop.example.com/products/7", nil))
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// product_viewed https://shop.example.com/products/7 map[id:7]
}

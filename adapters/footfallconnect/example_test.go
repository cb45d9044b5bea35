package footfallconnect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/adapters/footfallconnect"
	"github.com/footfall-dev/footfall/footfalltest"
)

func ExampleMiddleware() {
	api := footfalltest.StartAPI() // a stand-in for the Site Analytics API
	defer api.Close()
	cfg := api.Config()
	cfg.PublicURL = "https://shop.example.com"
	tracker, err := footfall.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	const add = "/shop.v1.CartService/Add" // a constant of generated code
	rules := []footfall.Rule{{Route: add, Event: "added_to_cart", Status: footfall.Success}}
	if err := footfallconnect.CheckRules(tracker, []string{add}, rules...); err != nil {
		fmt.Println(err) // a rule's route is no procedure
	}
	mux := http.NewServeMux()
	mux.Handle(add, connect.NewUnaryHandler(add, func(ctx context.Context, req *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
		return connect.NewResponse(req.Msg), nil
	}, connect.WithInterceptors(footfallconnect.Middleware(tracker, rules...))))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](server.Client(), server.URL+add)
	if _, err := client.CallUnary(context.Background(), connect.NewRequest(wrapperspb.String("tea"))); err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.URL, e.Props)
	}
	// Output:
	// added_to_cart https://shop.example.com/shop.v1.CartService/Add map[]
}

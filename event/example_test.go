package event_test

import (
	"context"
	"fmt"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/event"
	"github.com/footfall-dev/footfall/footfalltest"
)

type OrderPlaced struct {
	Amount   int    `prop:"amount"`
	Currency string `prop:"currency"`
	Coupon   string `prop:"coupon,omitempty"`
}

var orderPlaced = event.Define[OrderPlaced]("order_placed")

func Example() {
	api := footfalltest.StartAPI()
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := footfall.WithTracker(context.Background(), tracker) // as the middleware does
	if err := orderPlaced.Track(ctx, OrderPlaced{Amount: 4999, Currency: "EUR"}); err != nil {
		fmt.Println(err)
	}
	if err := tracker.Close(ctx); err != nil {
		fmt.Println(err)
	}
	for _, e := range api.Events() {
		fmt.Println(e.Name, e.Props)
	}
	// Output:
	// order_placed map[amount:4999 currency:EUR]
}

// Functions other than Track take a definition, too.
func ExampleDefinition_Event() {
	api := footfalltest.StartAPI()
	defer api.Close()
	tracker, err := footfall.New(api.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	e := orderPlaced.Event(OrderPlaced{Amount: 4999, Currency: "EUR", Coupon: "SUMMER"})
	e.ID = "order-4711" // counts once, also if another process sends it again
	fmt.Println(tracker.TrackDurable(context.Background(), e))
	fmt.Println(api.Events()[0].ID, api.Events()[0].Props)
	_ = tracker.Close(context.Background())
	// Output:
	// <nil>
	// order-4711 map[amount:4999 coupon:SUMMER currency:EUR]
}

type OrderCancelled struct {
	Reason  string `prop:"reason"`
	Refund  bool   `prop:"refund"`
	Comment string
}

var orderCancelled = event.Define[OrderCancelled]("order_cancelled")

func ExampleDefinition_Err() {
	fmt.Println(orderCancelled.Err())
	// Output:
	// footfall: Define[event_test.OrderCancelled].Refund: a bool is neither a string nor a number, nor a pointer to one
	// footfall: Define[event_test.OrderCancelled].Comment: no tag: add the key of its prop, such as `prop:"comment"`, or leave it out with `prop:"-"`
}

func ExampleAll() {
	for _, d := range event.All() {
		if d.Name == "order_placed" { // there are definitions of tests, too
			fmt.Println(d.Name, d.Type)
			for _, p := range d.Props {
				fmt.Println(p.Key, p.Type, p.Field, p.Optional)
			}
		}
	}
	// Output:
	// order_placed event_test.OrderPlaced
	// amount number Amount false
	// currency string Currency false
	// coupon string Coupon true
}

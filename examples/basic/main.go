// Basic sends one event and prints whether it was delivered.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		log.Fatal(err) // says which variables to set
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := tracker.Check(ctx); err != nil {
		log.Print(err) // such as a refused key or a wrong site
	}
	page := footfall.WithURL(ctx, "https://shop.example.com/checkout")
	if err := tracker.Track(page, "checkout_completed", footfall.P("plan", "pro"), footfall.P("amount", 4999)); err != nil {
		log.Fatal(err)
	}
	err = tracker.Close(ctx)
	account := tracker.Stats()
	fmt.Printf("delivered %d, rejected %d, lost %d\n", account.Delivered, account.Rejected, account.Dropped)
	if err != nil {
		log.Fatal(err)
	}
}

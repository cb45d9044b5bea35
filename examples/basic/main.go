// Basic sends one event and prints whether it was delivered.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	if os.Getenv("FOOTFALL_BASE_URL") == "" {
		log.Fatal("basic: set FOOTFALL_BASE_URL to the address of the Site Analytics API, FOOTFALL_API_KEY to a key of the account, and FOOTFALL_SITE_ID to the id of a site")
	}
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := tracker.Check(ctx); err != nil {
		log.Print(err) // such as a refused key
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

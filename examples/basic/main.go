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
	page := footfall.WithURL(context.Background(), "https://shop.example.com/checkout")
	if err := tracker.Track(page, "checkout_completed", footfall.P("plan", "pro"), footfall.P("amount", 4999)); err != nil {
		log.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = tracker.Close(deadline)
	account := tracker.Stats()
	fmt.Printf("delivered %d, rejected %d, lost %d\n", account.Delivered, account.Rejected, account.Dropped)
	if err != nil {
		log.Fatal(err)
	}
}

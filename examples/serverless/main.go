// Serverless tracks in a function whose platform freezes the process between calls. Each line of
// its standard input is a call: the number of an order that was packed.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/footfall-dev/footfall"
)

func main() {
	log.SetFlags(0)
	tracker, err := footfall.New(footfall.ConfigFromEnv())
	if err != nil {
		log.Fatal(err)
	}
	for calls := bufio.NewScanner(os.Stdin); calls.Scan(); {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // less than the platform gives
		if err := handle(ctx, tracker, calls.Text()); err != nil {
			log.Print(err)
		}
		cancel()
		fmt.Println("packed", calls.Text()) // now the platform freezes the process
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := tracker.Close(ctx); err != nil {
		log.Fatal(err)
	}
}

func handle(ctx context.Context, tracker *footfall.Tracker, order string) error {
	page := footfall.WithURL(ctx, "https://shop.example.com/orders/"+order)
	if err := tracker.Track(page, "order_packed", footfall.P("order", order)); err != nil {
		log.Print(err) // a lost event is no reason to fail the call
	}
	if err := tracker.Flush(ctx); err != nil {
		log.Print(err) // the time is over: the events are sent in the next call
	}
	return nil
}

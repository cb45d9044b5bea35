package main

import (
	"context"
	"fmt"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/stream"
)

// ackWait is how long the events of a killed relay wait. The default of 30 s suits an API that
// may be slow.
const ackWait = 5 * time.Second

// runRelay delivers from the stream to the collector.
func runRelay(ctx context.Context, _ []string) error {
	relay, err := stream.NewRelay(footfall.ConfigFromEnv(), streamConfig(), stream.RelayConfig{AckWait: ackWait})
	if err != nil {
		return err
	}
	go func() {
		for relay.Ready() != nil {
			time.Sleep(20 * time.Millisecond)
		}
		fmt.Println("ready", "to deliver")
	}()
	return relay.Run(ctx)
}

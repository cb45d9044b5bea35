//go:build ci

package jobtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/examples/jobs"
	"github.com/footfall-dev/footfall/footfalltest"
)

// The variables that make the test binary a worker: the address of the server, and the URL of the API.
const (
	serverVar = "FOOTFALL_TEST_JOBS_SERVER"
	apiVar    = "FOOTFALL_TEST_JOBS_API"
)

// Main runs the tests, or a worker if a test has started the process as one.
func Main(m *testing.M, run func(ctx context.Context, address string, w *jobs.Worker) error) {
	address := os.Getenv(serverVar)
	if address == "" {
		os.Exit(m.Run())
	}
	tracker, err := footfall.New(footfall.Config{
		BaseURL: os.Getenv(apiVar), APIKey: footfalltest.Key, SiteID: footfalltest.SiteID, CloseTimeout: 5 * time.Second,
	})
	if err == nil {
		err = run(context.Background(), address, &jobs.Worker{Tracker: tracker, Shop: &shop{answers: bufio.NewReader(os.Stdin)}})
	}
	fmt.Printf("delivered %d, lost %d\n", tracker.Stats().Delivered, tracker.Stats().Dropped)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// shop says on its standard output what it does, and asks the test whether a receipt can be sent.
type shop struct{ answers *bufio.Reader }

// Charge implements jobs.Shop.
func (s *shop) Charge(_ context.Context, o jobs.Order) error {
	fmt.Println("charge", o.Number)
	return nil
}

// SendReceipt implements jobs.Shop.
func (s *shop) SendReceipt(ctx context.Context, o jobs.Order) error {
	fmt.Println("receipt", o.Number)
	answer, err := s.answers.ReadString('\n')
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) == "fail" {
		return errors.New("the mail server is away")
	}
	if ctx.Err() != nil {
		return ctx.Err() // the job was cancelled meanwhile
	}
	return footfall.Track(ctx, "receipt_sent")
}

//go:build ci

package generators

import (
	"context"
	"errors"

	"github.com/footfall-dev/footfall"
)

var (
	errMissing = errors.New("there is no such product")
	errBroken  = errors.New("the shelf is broken")
)

// find is what each handler calls. It tracks with the context that the generated code passes to the handler.
func find(ctx context.Context, id string) error {
	_ = footfall.Track(ctx, "stock_checked") // an error is counted and logged
	switch id {
	case "missing":
		return errMissing
	case "broken":
		return errBroken
	case "panic":
		panic(errBroken)
	}
	return nil
}

package colstore

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
)

// Servers may send any number of different sources.
func TestABreakdownOfTooManySourcesIsRefused(t *testing.T) {
	t.Parallel()
	const name = 7
	for _, sources := range []int64{store.MaxBreakdown, store.MaxBreakdown + 1} {
		c := &Columns{}
		for n := range sources {
			for of, value := range map[Column]any{Visitor: int64(0), Name: int64(name), Source: n + 10, Medium: int64(0), Campaign: int64(0), Props: []byte(nil)} {
				require.NoError(t, c.Dest(of).(sql.Scanner).Scan(value))
			}
		}
		err := NewBreakdown(name, "amount", nil).Add(c)
		if sources > store.MaxBreakdown {
			require.ErrorIs(t, err, store.ErrTooLarge)
		} else {
			require.NoError(t, err)
		}
	}
}

package sqlite

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/collector/store/storetest"
)

func TestStepsInAnyZoneAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)
	for seed := range uint64(3000) {
		q := storetest.RandomQuery(rand.New(rand.NewPCG(seed, 9)), from, from.AddDate(0, 0, 7))
		for _, step := range []store.Step{store.Hour, store.Day} {
			want, err := storetest.NewReference().Ask(t.Context(), store.Query{Site: q.Site, From: q.From, To: q.To, Zone: q.Zone}, store.Question{Step: step})
			require.NoError(t, err)
			got := newSeries(q, step).all
			require.Len(t, got, len(want[0].Points), "seed %d", seed)
			for i := range got {
				require.Equal(t, want[0].Points[i].At, got[i].At, "seed %d", seed)
			}
		}
	}
}

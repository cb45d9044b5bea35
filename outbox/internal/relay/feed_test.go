package relay

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/outbox/internal/rows"
)

// A row that is given back waits for as long as the API has asked for.
func TestARowIsGivenBackForTheTimeThatTheAPIHasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(&Config{Lease: 30 * time.Second, MaxWait: 5 * time.Minute, MaxHeld: 3, MaxBody: 1 << 10})
		body := []byte(`{"site_id":"shop","name":"order_paid","url":"https://shop.example.com/"}`)
		asked := map[string]time.Duration{}
		for i, wait := range []time.Duration{time.Millisecond, 3 * time.Minute, time.Hour} {
			id := footfall.EventID{15: byte(i + 1)}
			f.put([]rows.Row{{ID: id.String(), Body: body, Claims: 1}}, time.Now().Add(time.Minute))
			var one [1]footfall.Record
			if f.Take(one[:]) != 1 {
				t.Fatal("the row is not taken")
			}
			f.src.Retry(one[0], wait, errors.New("503"))
			asked[id.String()] = wait
		}
		time.Sleep(time.Minute)
		f.makeRoom(3, true)
		for wait, ids := range f.take().Later {
			for _, id := range ids {
				if want := min(max(quickWait, asked[id]-time.Minute), 5*time.Minute); wait != want {
					t.Errorf("a row that waits for %v is given back for %v, not for %v", asked[id], wait, want)
				}
				delete(asked, id)
			}
		}
		if len(asked) > 0 {
			t.Errorf("rows are not given back: %v", asked)
		}
		f.src.Close()
		time.Sleep(2 * time.Hour)
	})
}

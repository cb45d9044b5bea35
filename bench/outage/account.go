package outage

import (
	"fmt"
	"math"
	"time"

	"github.com/footfall-dev/footfall/bench/report"
)

// account is the outcome of a trial's events.
type account struct {
	contestant *contestant
	result     result
	log        string
	alone      time.Duration // time between Flush, if the SDK has it, and Close

	tracked, refused int
	delivered        int // accepted events that were delivered
	missing          int // accepted events that never reached the server
	duplicated       int // times that an event was accepted beyond the first
	sameKey          int // duplicates with the event's earlier Idempotency-Key
	unasked          int // delivered although Track refused them
	requests         int
	hurried          int
	afterRestart     int // delivered by the second process
	strange          int
	why              error
}

// take counts the events.
func (a *account) take(l ledger, seen counts) {
	a.requests, a.hurried, a.sameKey = seen.requests, seen.hurried, seen.sameKey
	a.strange, a.why = seen.strange, seen.why
	a.tracked, a.refused, a.delivered, a.missing, a.duplicated, a.unasked = 0, 0, 0, 0, 0, 0
	for n, what := range l {
		came := seen.accepted[n]
		if what != untouched {
			a.tracked++
			a.duplicated += max(0, came-1)
		}
		switch {
		case what == refused:
			a.refused++
			a.unasked += min(came, 1)
		case what == taken && came > 0:
			a.delivered++
		case what == taken:
			a.missing++
		}
	}
}

// lost returns the number of events lost without a report.
func (a *account) lost() int { return max(0, a.missing-a.result.SaidLost) }

func (s *scenario) table(accounts []account) report.Table {
	t := report.Table{Caption: s.id + ". " + s.title, Columns: []string{
		"SDK", "tracked", "refused", "delivered", "lost, number said", "lost, number unsaid", "duplicated",
		"RSS before (MiB)", "peak RSS (MiB)", "peak goroutines", "requests", "Close (s)",
	}}
	if s.flush > 0 {
		t.Columns = append(t.Columns, "Flush (s)")
	}
	if s.mood == limiting {
		t.Columns = append(t.Columns, "requests within the 2 s")
	}
	for i := range accounts {
		t.Rows = append(t.Rows, s.row(&accounts[i]))
	}
	return t
}

func (s *scenario) row(a *account) []any {
	r := &a.result
	row := []any{
		a.contestant.Name, a.tracked, a.refused, a.delivered, r.SaidLost, a.lost(), a.duplicated,
		mebibytes(r.RSSBefore), mebibytes(r.RSS), r.Goroutines, a.requests, back(r.Back, r.Close, s.giveUp),
	}
	if s.flush > 0 {
		row = append(row, flushed(a, s))
	}
	if s.mood == limiting {
		row = append(row, a.hurried)
	}
	return row
}

func back(yes bool, after, giveUp time.Duration) any {
	if !yes {
		return fmt.Sprintf("not back after %.0f", giveUp.Seconds())
	}
	return seconds(after)
}

func flushed(a *account, s *scenario) any {
	r := &a.result
	if r.NoFlush {
		return fmt.Sprintf("none; %.2f alone", a.alone.Seconds())
	}
	took := back(r.FlushError != notBack, r.Flush, s.flush+s.giveUp)
	if a.alone < grace/100 {
		return took // all have arrived
	}
	return fmt.Sprintf("%v; %.2f alone", took, a.alone.Seconds())
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

func mebibytes(kib int) float64 { return rounded(float64(kib) / 1024) }

func rounded(f float64) float64 { return math.Round(f*10) / 10 }

// brokenPromises reports accepted events that Footfall lost silently.
func (s *scenario) brokenPromises(accounts []account) (notes []string) {
	for i := range accounts {
		if a := &accounts[i]; a.contestant.ours() && a.lost() > 0 {
			notes = append(notes, fmt.Sprintf("BROKEN PROMISE: %s, %s: %d events that Track took were lost and nobody was told",
				s.id, a.contestant.Name, a.lost()))
		}
	}
	return notes
}

// notes returns facts without a column in the table.
func (s *scenario) notes(accounts []account) (notes []string) {
	for i := range accounts {
		a := &accounts[i]
		say := func(format string, args ...any) {
			notes = append(notes, fmt.Sprintf("%s, %s: ", s.id, a.contestant.Name)+fmt.Sprintf(format, args...))
		}
		if a.afterRestart > 0 {
			say("%d of the delivered events were delivered from the file after a restart", a.afterRestart)
		}
		if a.sameKey > 0 {
			say("%d of the duplicates came under the Idempotency-Key that the event had before", a.sameKey)
		}
		a.notesOfTrack(say)
		a.notesOfEnd(say)
	}
	return notes
}

// slow is a duration of Track that an application would notice.
const slow = 100 * time.Millisecond

func (a *account) notesOfTrack(say func(string, ...any)) {
	if a.result.Stuck {
		say("Track blocked until the experiment gave it up")
	} else if a.result.Longest > slow {
		say("a call of Track took %.1f s", a.result.Longest.Seconds())
	}
	if a.unasked > 0 {
		say("%d events came although Track had returned an error", a.unasked)
	}
	if a.strange > 0 {
		say("%d requests could not be read: %v", a.strange, a.why)
	}
}

// notesOfEnd reports the SDK's last messages.
func (a *account) notesOfEnd(say func(string, ...any)) {
	r := &a.result
	if r.FlushError != "" && !r.NoFlush {
		say("Flush said “%s”", r.FlushError)
	}
	if r.CloseError != "" {
		say("Close said “%s”", r.CloseError)
	}
	if r.Complaints > 0 {
		say("its error handler was called %d times, without a number of events", r.Complaints)
	}
	if a.log != "" {
		say("its log said “%s”", a.log)
	}
	if !r.Back && a.lost() > 0 {
		say("Close might have reported more of the lost events after the trial stopped waiting for it")
	}
}

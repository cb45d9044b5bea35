package outage

import "time"

// scenario describes the server's failure and the application's behavior.
type scenario struct {
	id     string
	title  string
	mood   mood
	rate   int           // events a second
	load   time.Duration // how long events are tracked
	pause  time.Duration // between the last event and Close
	heals  bool          // the server works after the last event
	flush  time.Duration // limit of Flush; zero if it is not called
	close  time.Duration // the deadline given to Close
	giveUp time.Duration // when the trial stops waiting for Close
}

func (s *scenario) events() int { return int(int64(s.rate) * int64(s.load) / int64(time.Second)) }

var scenarios = []scenario{
	{
		id:    "G1",
		title: "The server refuses connections for 20 s, then works; Flush with 45 s, Close with 15 s",
		mood:  refusing, heals: true,
		rate: 2000, load: 20 * time.Second,
		flush: 45 * time.Second, close: 15 * time.Second, giveUp: 30 * time.Second,
	},
	{
		id:    "G2",
		title: "The server accepts connections and never answers; Close with 5 s after 20 s of it",
		mood:  hanging,
		rate:  2000, load: 20 * time.Second,
		close: 5 * time.Second, giveUp: 45 * time.Second, // above the 30 s that some SDKs give a request
	},
	{
		id:    "G3",
		title: "429 with Retry-After: 2 to everything for 5 s, then it works; Flush with 20 s, Close with 10 s",
		mood:  limiting, heals: true,
		rate: 500, load: 5 * time.Second,
		flush: 20 * time.Second, close: 10 * time.Second, giveUp: 30 * time.Second,
	},
	{
		id:    "G4",
		title: "500 to the first request with an event; Flush with 45 s, Close with 15 s",
		mood:  failingOnce,
		rate:  500, load: 2 * time.Second,
		flush: 45 * time.Second, close: 15 * time.Second, giveUp: 30 * time.Second,
	},
	{
		id:    "G5",
		title: "Close with 2 s, 3 s after 100 events were tracked while the server refuses connections",
		mood:  refusing,
		rate:  1000, load: 100 * time.Millisecond, pause: 3 * time.Second,
		close: 2 * time.Second, giveUp: 30 * time.Second,
	},
}

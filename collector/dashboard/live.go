package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/internal/localtime"
	"github.com/footfall-dev/footfall/collector/internal/patient"
	"github.com/footfall-dev/footfall/collector/store"
)

const (
	maxStreams   = 64               // live views open at once
	recentEvents = 50               // events at the start of a live view
	keepAlive    = 15 * time.Second // interval of keep-alive comments, because proxies close idle streams
	patience     = 30 * time.Second // for a client that reads nothing, unless the collector has set a timeout
)

// errBusy is returned if too many live views are open.
var errBusy = errors.New("dashboard: too many live views")

// line is an event in the live view. The browser's script reads its JSON.
type line struct {
	At     string `json:"at"`
	Time   string `json:"time"`
	Name   string `json:"name"` // "" for a pageview
	Page   string `json:"page"`
	Props  string `json:"props"`
	Server bool   `json:"server"`
}

func newLine(e store.Event, now time.Time, zone *time.Location) line {
	l := line{
		At: e.At.UTC().Format(time.RFC3339), Time: e.At.In(zone).Format("15:04:05"), Name: e.Name, Page: e.Path,
		Server: e.Name != "" && e.Visitor == 0,
	}
	if today := localtime.Start(localtime.DayOf(now, zone), zone); e.At.Before(today) {
		l.Time = e.At.In(zone).Format("2 Jan")
	}
	var props []string
	for _, p := range e.Props {
		props = append(props, p.Key+": "+p.Value)
	}
	l.Props = strings.Join(props, ", ")
	return l
}

func (b *board) live(w http.ResponseWriter, r *http.Request, site account.Site) error {
	events, err := b.Store.Recent(r.Context(), store.Ever(site.ID), recentEvents)
	if err != nil {
		return err
	}
	lines := make([]line, len(events))
	for i, e := range events {
		lines[i] = newLine(e, b.Now(), site.Location())
	}
	return b.show(w, r, http.StatusOK, "live", view{Title: "Live view of " + site.Name, Tab: "live", Site: site, Data: lines})
}

// stream sends each event as it arrives, after the recent ones. It ends with the request, the
// session or the collector.
func (b *board) stream(w http.ResponseWriter, r *http.Request, site account.Site) error {
	select {
	case b.streams <- struct{}{}:
		defer func() { <-b.streams }()
	default:
		return errBusy
	}
	events, stop := b.Live.Watch(site.ID) // before Recent, so that no event is missed
	defer stop()
	recent, err := b.Store.Recent(r.Context(), store.Ever(site.ID), recentEvents)
	if err != nil {
		return err
	}
	out := sender{patient.New(w, patience), b.Now, site.Location()}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers events
	if out.begin(recent) != nil {
		return nil // the client is gone
	}
	b.follow(r, site, out, events, recent)
	return nil
}

func (b *board) follow(r *http.Request, site account.Site, out sender, events <-chan store.Event, sent []store.Event) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-b.Done:
			return
		case e := <-events:
			if !forget(&sent, e) {
				err = out.event(e)
			}
		case <-tick.C:
			if _, ok := b.Account.Site(site.ID); !ok || !b.isSignedIn(r) {
				return
			}
			err = out.write(": still here\n\n")
		}
		if err != nil {
			return
		}
	}
}

// forget removes e from sent and reports whether it was there: events that arrive between
// Watch and Recent are in both.
func forget(sent *[]store.Event, e store.Event) bool {
	i := slices.IndexFunc(*sent, func(s store.Event) bool { return same(s, e) })
	if i >= 0 {
		*sent = slices.Delete(*sent, i, i+1)
	}
	return i >= 0
}

// same compares two events without their keys.
func same(x, y store.Event) bool {
	if x.At.UnixMilli() != y.At.UnixMilli() || len(x.Props) != len(y.Props) {
		return false
	}
	x.At, x.Key, x.Props = y.At, y.Key, append([]store.Prop(nil), x.Props...)
	y.Props = append([]store.Prop(nil), y.Props...)
	return reflect.DeepEqual(x, y)
}

// sender writes a stream of server-sent events.
type sender struct {
	w   *patient.Writer // the server's write deadline is for finite answers
	now func() time.Time
	in  *time.Location
}

func (s sender) begin(recent []store.Event) error {
	if err := s.write("event: begin\ndata:\n\n"); err != nil { // the browser empties its list
		return err
	}
	for _, e := range slices.Backward(recent) {
		if err := s.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (s sender) event(e store.Event) error {
	data, err := json.Marshal(newLine(e, s.now(), s.in)) // has no line breaks
	if err != nil {
		return err
	}
	return s.write("data: " + string(data) + "\n\n")
}

func (s sender) write(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.w.FlushError()
}

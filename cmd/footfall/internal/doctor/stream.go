package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

// streams compares the streams with the settings, and reports what is in the stream of events, who
// takes it and what keeps it.
func (x *NATSExam) streams(ctx context.Context, js jetstream.JetStream) {
	var s jetstream.Stream
	err := x.denials.during(ctx, func(ctx context.Context) (err error) { s, err = js.Stream(ctx, x.Stream.Name); return err })
	switch {
	case err == nil:
		x.compare(ctx, js.Conn())
		x.replicas(s.CachedInfo())
		x.fill(s.CachedInfo())
		x.lag(ctx, s)
	case errors.Is(err, jetstream.ErrStreamNotFound):
		x.absent(ctx, js.Conn())
	case isDenied(err):
		x.add("stream", Skipped, "the user has no permission to read it; a program that only publishes needs none", "to check the stream, give the user permission to publish to $JS.API.STREAM.INFO."+x.Stream.Name)
	default:
		x.diagnose("stream", Bad, fmt.Errorf("NATS stream %q: %w", x.Stream.Name, err))
	}
}

// absent reports that there is no stream. A user who may not create it has to wait for another one.
func (x *NATSExam) absent(ctx context.Context, nc *nats.Conn) {
	found := fmt.Sprintf("there is no NATS stream %q", x.Stream.Name)
	create := try{subject: "$JS.API.STREAM.CREATE." + x.Stream.Name, data: nameless}
	if permitted(ctx, nc, create) != nil {
		x.add("stream", Bad, found+", and the user may not create it", "start a relay, whose user creates it, or correct -stream")
		return
	}
	x.add("stream", Skipped, found+" yet", "a relay or a program that uses stream.Open creates it: start one, or correct -stream")
}

// compare reports what differs between the streams and the settings.
func (x *NATSExam) compare(ctx context.Context, nc *nats.Conn) {
	cfg := x.Stream
	cfg.Conn, cfg.Logger = nc, slog.New(slog.DiscardHandler)
	err := x.denials.during(ctx, func(ctx context.Context) error { return stream.Check(ctx, cfg) })
	same := true
	for _, e := range shell.Each(err) {
		other, different := errors.AsType[*stream.SettingsError](e)
		switch {
		case different && !other.Fatal():
			x.diagnose("stream", Warn, e)
		case different || !isDenied(err): // a program need not read the stream of rejected events
			x.diagnose("stream", Bad, e)
		default:
			continue
		}
		same = false
	}
	if same {
		x.add("stream", Good, "has the settings of -stream, -subject, -replicas and the other flags", "")
	}
}

// replicas reports which servers keep the events.
func (x *NATSExam) replicas(info *jetstream.StreamInfo) {
	want, c := info.Config.Replicas, info.Cluster
	switch {
	case c != nil && c.Leader == "":
		x.add("replicas", Bad, "the stream has no leader, and NATS accepts no events"+behind(c),
			"start the servers that keep it: a majority of them must run. After a change of -replicas that was not settled, start the server that was its leader")
		return
	case want == 1:
		x.add("replicas", Warn, "1: events are lost with the disk of their server", "for a fleet, run three servers and set -replicas 3, with footfall stream apply -replicas 3 for a stream that exists")
		return
	case c == nil:
		c = &jetstream.ClusterInfo{}
	}
	current := 1 // the leader
	for _, p := range c.Replicas {
		if isCurrent(p) {
			current++
		}
	}
	found := fmt.Sprintf("%d of %d current, leader %s", current, want, c.Leader)
	level, remedy := Warn, "start these servers, or wait until they have caught up: without a majority, NATS accepts no events"
	if current <= want/2 {
		level, found = Bad, found+", and NATS accepts no events"
	}
	switch {
	case c.Desired != nil:
		x.add("replicas", level, found+"; a change of the replicas is not settled"+behind(c), "wait half a minute, and ask again: if the leader stops before, the stream has none until that server is back")
	case current < want:
		x.add("replicas", level, found+behind(c), remedy)
	default:
		x.add("replicas", Good, fmt.Sprintf("%d current, leader %s", current, c.Leader), "")
	}
}

// behind lists the servers that do not have all events.
func behind(c *jetstream.ClusterInfo) string {
	var names []string
	for _, p := range c.Replicas {
		if !isCurrent(p) {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "; offline or behind: " + strings.Join(names, ", ")
}

func isCurrent(p *jetstream.PeerInfo) bool { return p.Current && !p.Offline }

// fill reports how full the stream is.
func (x *NATSExam) fill(info *jetstream.StreamInfo) {
	state, most := info.State, info.Config.MaxBytes
	if most <= 0 {
		x.add("fill", Good, humanize.IBytes(state.Bytes)+", without a bound", "")
		return
	}
	found := fmt.Sprintf("%s of %s", humanize.IBytes(state.Bytes), humanize.IBytes(uint64(most)))
	const remedy = "see that relays deliver the events, or raise the bound with footfall stream apply -max-bytes"
	event := state.Bytes / max(state.Msgs, 1)
	switch free := uint64(max(most-int64(state.Bytes), 0)); {
	case free <= 2*event || info.Config.MaxMsgs > 0 && state.Msgs >= uint64(info.Config.MaxMsgs):
		x.add("fill", Bad, "full, NATS refuses events: "+found, remedy)
	case free < uint64(most)/5:
		x.add("fill", Warn, found, remedy)
	default:
		x.add("fill", Good, found, "")
	}
}

// late is the age of an event in the stream that needs attention.
const late = 5 * time.Minute

// lag reports whether relays take the events.
func (x *NATSExam) lag(ctx context.Context, s jetstream.Stream) {
	info := s.CachedInfo()
	state := info.State
	found := "no events"
	oldest := time.Duration(0)
	if state.Msgs > 0 {
		oldest = max(0, info.TimeStamp.Sub(state.FirstTime))
		found = fmt.Sprintf("%d events, the oldest %v old", state.Msgs, oldest.Round(time.Second))
	}
	var held *jetstream.ConsumerInfo
	err := x.denials.during(ctx, func(ctx context.Context) error {
		c, err := s.Consumer(ctx, x.Consumer)
		if err == nil {
			held = c.CachedInfo()
		}
		return err
	})
	missing := errors.Is(err, jetstream.ErrConsumerNotFound)
	switch {
	case missing && state.Consumers > 0:
		x.foreign(ctx, s)
		return
	case err != nil && !missing && !isDenied(err):
		x.diagnose("lag", Bad, fmt.Errorf("%s, and the consumer %q of the relays does not answer: %w", found, x.Consumer, err))
		return
	case missing && state.Msgs > 0:
		x.add("lag", Warn, found+", and no relay has connected yet", "start a relay, such as footfall relay")
		return
	case held != nil:
		found += fmt.Sprintf(", %d of them with relays", held.NumAckPending)
	}
	if oldest > late {
		x.add("lag", Warn, found, "see that relays run, and what /readyz or the log of each says")
		return
	}
	x.add("lag", Good, found, "")
}

// foreign reports the consumers that keep relays from the stream.
func (x *NATSExam) foreign(ctx context.Context, s jetstream.Stream) {
	names := "of another name"
	_ = x.denials.during(ctx, func(ctx context.Context) error { // otherwise the name is not known
		list := s.ConsumerNames(ctx)
		var all []string
		for name := range list.Name() {
			all = append(all, fmt.Sprintf("%q", name))
		}
		if len(all) > 0 {
			names = strings.Join(all, ", ")
		}
		return list.Err()
	})
	x.add("consumer", Bad, fmt.Sprintf("the stream has a consumer %s, and a work queue takes no second one: footfall relay cannot take events", names),
		fmt.Sprintf("remove it with nats consumer rm %s, or give -consumer if your relays have it", x.Stream.Name))
}

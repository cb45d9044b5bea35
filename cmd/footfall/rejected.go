package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v3"

	"github.com/footfall-dev/footfall/cmd/footfall/internal/natsconn"
	"github.com/footfall-dev/footfall/cmd/footfall/internal/shell"
	"github.com/footfall-dev/footfall/stream"
)

func rejectedCommand(stdout, stderr io.Writer) *cli.Command {
	sub := func(name, usage, arguments string, action func(*rejections, context.Context) error, more ...cli.Flag) *cli.Command {
		flags := slices.Concat(natsconn.Flags(), natsconn.NameFlags(), more, []cli.Flag{shell.JSONFlag()})
		return &cli.Command{
			Name: name, Usage: usage, ArgsUsage: arguments, Flags: flags, OnUsageError: shell.WrongUsage,
			Action: func(ctx context.Context, c *cli.Command) error {
				r := &rejections{Command: c, out: stdout, log: slog.New(slog.NewTextHandler(stderr, nil))}
				return r.run(ctx, action)
			},
		}
	}
	list := sub("list", "list them, oldest first", "", (*rejections).list, filterFlags()...)
	list.Before = shell.NoArguments
	yes := &cli.BoolFlag{Name: "yes", Usage: "remove all rejected events, or all that the other options choose"}
	return &cli.Command{
		Name: "rejected", Usage: "list, show, retry or purge the events that the API rejected",
		Description: "Relays move them to a second stream, with status, code and message of the API's answer. SEQ is the\n" +
			"number in the first column of the list, ID the id of an event.",
		Commands: []*cli.Command{
			list,
			sub("show", "print events in full", "SEQ|ID …", (*rejections).show),
			sub("retry", "move them back to the stream, for a relay to send them again; without arguments all, or all that the options choose", "[SEQ|ID …]", (*rejections).retry, filterFlags()...),
			sub("purge", "remove them for good; all, or all that the options choose, with -yes", "[SEQ|ID …]", (*rejections).purge, append(filterFlags(), yes)...),
		},
		Action: shell.NeedsCommand("list, show, retry or purge"),
	}
}

// rejections is a run of one of the commands.
type rejections struct {
	*cli.Command
	out     io.Writer
	log     *slog.Logger
	filter  filter
	listing string // the command that lists the events
	stored  *stream.Rejections
}

// run checks the command line, connects and calls the action.
func (r *rejections) run(ctx context.Context, action func(*rejections, context.Context) error) error {
	v := shell.Read(r.Command)
	s, cfg := natsconn.Read(v), natsconn.ReadStream(v)
	s.Require(v, "")
	for _, arg := range r.Args().Slice() {
		seq, err := strconv.ParseUint(arg, 10, 64)
		if (err != nil || seq == 0) && uuid.Validate(arg) != nil {
			v.Problem("%s: %q is neither a SEQ nor an ID; %s shows them", r.FullName(), arg, r.listCommand(s, cfg))
		}
	}
	r.filter = readFilter(v, time.Now())
	if r.Args().Present() && r.filter != (filter{}) {
		v.Problem("%s: give either SEQs and IDs, or options that choose events", r.FullName())
	}
	if r.Name == "show" && !r.Args().Present() {
		v.Problem("which events? give SEQs or IDs; %s shows them", r.listCommand(s, cfg))
	}
	if r.Name == "purge" && r.Args().Present() == r.Bool("yes") {
		which := "-yes for all"
		if r.filter != (filter{}) {
			which += " that the options choose"
		}
		v.Problem("purge removes events for good: give SEQs or IDs, or %s", which)
	}
	if err := v.Err(); err != nil {
		return err
	}
	cfg, stop, err := s.Open("rejected", cfg, r.log)
	if err != nil {
		return err
	}
	defer stop()
	r.listing = r.listCommand(s, cfg)
	if r.stored, err = stream.OpenRejections(ctx, cfg); errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("NATS at %s has no stream %q: the first relay creates it: start one, or correct -stream", s, cfg.Name+"_REJECTED")
	}
	if err == nil {
		err = action(r, ctx)
	}
	if errors.Is(err, errNoneSuch) {
		return err
	}
	return s.Explain(err)
}

// rejectedEvent is a line of the list.
type rejectedEvent struct {
	Seq     uint64    `json:"seq"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Status  int       `json:"status"`
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Event   any       `json:"event"`
}

func jsonOf(e stream.Rejected) rejectedEvent {
	return rejectedEvent{e.Seq, e.ID, e.Time, e.Status, e.Code, e.Message, shell.JSONBody(e.Body)}
}

func (r *rejections) list(ctx context.Context) error {
	all := []rejectedEvent{}
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SEQ\tTIME\tSTATUS\tCODE\tEVENT\tSITE\tMESSAGE")
	for e, err := range r.chosen(ctx) {
		if err != nil {
			return err
		}
		if r.Bool("json") {
			all = append(all, jsonOf(e))
			continue
		}
		body, ok := shell.ParseEvent(e.Body)
		if !ok {
			body.Name = "-"
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\n", e.Seq, e.Time.Local().Format("2006-01-02 15:04:05"), e.Status,
			shell.Printable(cmp.Or(e.Code, "-")), shell.Word(body.Name), shell.Word(cmp.Or(body.SiteID, "-")), shell.Printable(e.Message))
	}
	if r.Bool("json") {
		return shell.WriteJSON(r.out, all)
	}
	return w.Flush()
}

// show prints the events that the arguments name.
func (r *rejections) show(ctx context.Context) error {
	seqs, err := r.seqs(ctx)
	if err != nil {
		return err
	}
	all := []rejectedEvent{}
	for e, err := range r.stored.All(ctx) {
		if err != nil {
			return err
		}
		if slices.Contains(seqs, e.Seq) {
			all = append(all, jsonOf(e))
		}
	}
	if r.Bool("json") {
		return shell.WriteJSON(r.out, all)
	}
	for _, e := range all {
		body, err := json.MarshalIndent(e.Event, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(r.out, "SEQ      %d\nID       %s\nTIME     %s\nSTATUS   %d\nCODE     %s\nMESSAGE  %s\n", e.Seq, shell.Printable(e.ID),
			e.Time.Local().Format(time.RFC3339), e.Status, shell.Printable(e.Code), shell.Printable(e.Message))
		for line := range strings.Lines(string(body) + "\n") {
			fmt.Fprintln(r.out, shell.Printable(strings.TrimSuffix(line, "\n")))
		}
	}
	return nil
}

func (r *rejections) retry(ctx context.Context) error {
	return r.move(ctx, r.stored.Retry, "retried", "%d moved back to the stream; relays send them again\n")
}

func (r *rejections) purge(ctx context.Context) error {
	return r.move(ctx, r.stored.Purge, "purged", "%d removed for good\n")
}

// move calls f with the positions of the arguments, or with none for all, and prints how many events
// were moved, also those before an error.
func (r *rejections) move(ctx context.Context, f func(context.Context, ...uint64) (int, error), key, text string) error {
	n := 0
	seqs, err := r.seqs(ctx)
	if err == nil && (len(seqs) > 0 || r.filter == filter{}) { // without positions f takes all
		if n, err = f(ctx, seqs...); errors.Is(err, jetstream.ErrMsgNotFound) {
			err = fmt.Errorf("another command has retried or purged an event meanwhile: %w; %s %w", err, r.listing, errNoneSuch)
		}
	}
	if r.Bool("json") {
		return errors.Join(err, shell.WriteJSON(r.out, map[string]int{key: n}))
	}
	if err == nil || n > 0 {
		fmt.Fprintf(r.out, text, n)
	}
	return err
}

// errNoneSuch is wrapped by an error about an event that is not among the rejected ones.
var errNoneSuch = errors.New("shows the existing ones")

// listCommand returns the command that lists the events of the same stream.
func (r *rejections) listCommand(s *natsconn.Servers, cfg stream.Config) string {
	command := "footfall rejected list"
	if r.String("nats") != "" {
		command += " -nats " + s.String()
	}
	if r.String("stream") != "" {
		command += " -stream " + cfg.Name
	}
	if r.String("subject") != "" {
		command += " -subject " + cfg.Subject
	}
	return command
}

// seqs returns the positions that the arguments name or that the options choose. It returns none for all.
// All positions that the arguments name must be there.
func (r *rejections) seqs(ctx context.Context) (seqs []uint64, err error) {
	if !r.Args().Present() {
		if r.filter == (filter{}) {
			return nil, nil
		}
		for e, err := range r.chosen(ctx) {
			if err != nil {
				return nil, err
			}
			seqs = append(seqs, e.Seq)
		}
		return seqs, nil
	}
	found := make(map[string][]uint64)
	for e, err := range r.stored.All(ctx) {
		if err != nil {
			return nil, err
		}
		found[strconv.FormatUint(e.Seq, 10)] = []uint64{e.Seq}
		found[e.ID] = append(found[e.ID], e.Seq) // an event may be retried and rejected again
	}
	for _, arg := range r.Args().Slice() {
		if found[arg] == nil {
			return nil, fmt.Errorf("there is no rejected event %s: %s %w", arg, r.listing, errNoneSuch)
		}
		seqs = append(seqs, found[arg]...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs), nil
}

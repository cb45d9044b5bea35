package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
)

// command is a subcommand.
type command struct {
	name    string
	args    string // after the name, in its usage
	files   [2]int // least and most arguments
	wants   string // says which arguments the command takes, in an error
	summary string // a line in -help
	about   string // text in its own -help
	flags   func(*settings)
	run     func(ctx context.Context, o *options, stdout, stderr io.Writer) error
}

// commands lists all commands. The first one runs if the command line names none.
var commands = []command{
	{
		name: "serve", wants: "takes no arguments",
		summary: "serve until Ctrl+C; the default",
		about: `Serve answers requests until it gets SIGINT or SIGTERM. Then it finishes open requests,
which takes at most 20 seconds, and exits. A second signal ends it at once. The first
start prints a link that sets the password.
`,
		flags: (*settings).forServe,
		run:   runServe,
	},
	{
		name: "backup", args: " FILE", files: [2]int{1, 1}, wants: "needs the name of a new file",
		summary: "write a copy of all data to a new file",
		about: `Backup writes a consistent copy of all data to FILE, which must not exist: give each backup
a name of its own, such as one with the date. The service may be running. The copy does not
have the salt of the day's visitors.
`,
		flags: (*settings).forData,
		run:   backup,
	},
	{
		name: "restore", args: " FILE", files: [2]int{1, 1}, wants: "needs the file of a backup",
		summary: "put a backup in the place of the data",
		about: `Restore puts a copy of the backup FILE in the place of the data. It reads all of the backup
first, and keeps the old data under another name, which it prints. It refuses while the
service runs. Everyone has to sign in again. A key that was revoked since the backup is
valid again, and one that was issued since is not.
`,
		flags: (*settings).forData,
		run: func(ctx context.Context, o *options, stdout, _ io.Writer) error {
			return restore(ctx, o.database(), o.file, stdout)
		},
	},
	{
		name: "check", args: " [FILE]", files: [2]int{0, 1}, wants: "takes one file at most",
		summary: "look for damage in the data, or in a backup",
		about: `Check reads all of the data, or of the backup FILE, and reports damage. It changes nothing.
The service may be running. A million events take some seconds. It also says how many texts of
removed events, such as paths of a deleted site, are still in the file. The exit status is 1 if
events, settings or the file are damaged or events belong to a site that does not exist, and
3 if only precomputed figures are damaged: the service computes these again from the events.
`,
		flags: (*settings).forData,
		run:   check,
	},
	{
		name: "version", wants: "takes no arguments",
		summary: "print the version",
		about:   "Version prints the version of the program.\n",
		flags:   func(*settings) {},
		run: func(_ context.Context, _ *options, stdout, _ io.Writer) error {
			_, err := fmt.Fprintln(stdout, "footfall-collector", version())
			return err
		},
	},
}

// find returns the command with a name, or nil.
func find(name string) *command {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &commands[i]
}

// usage returns the command line of c without options.
func (c *command) usage() string { return "footfall-collector " + c.name + c.args }

// parse parses the options and arguments of c, in any order.
func (c *command) parse(args []string, env func(string) string, stdout io.Writer) (options, error) {
	s := newSettings(env)
	c.flags(s)
	var files []string
	for {
		switch err := s.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			c.help(s, stdout)
			return options{}, err
		case err != nil:
			return options{}, usageError{fmt.Errorf("%w; footfall-collector %s -help lists the options", err, c.name)}
		}
		if s.NArg() == 0 {
			break
		}
		files = append(files, s.Arg(0))
		args = s.Args()[1:]
	}
	if len(files) < c.files[0] || len(files) > c.files[1] {
		return options{}, usageError{fmt.Errorf("%s %s: %s", c.name, c.wants, c.usage())}
	}
	s.options.command = c
	s.options.file = strings.Join(files, "")
	return s.finish()
}

func (c *command) help(s *settings, out io.Writer) {
	options := ""
	s.VisitAll(func(*flag.Flag) { options = " [options]" })
	fmt.Fprintf(out, "Usage: %s%s\n\n%s", c.usage(), options, c.about)
	if options != "" {
		fmt.Fprint(out, "\nOptions, each with its environment variable:\n")
		s.SetOutput(out)
		s.PrintDefaults()
	}
}

// backup writes a backup, and prints its file and size.
func backup(ctx context.Context, o *options, stdout, _ io.Writer) error {
	if err := o.checkData(); err != nil {
		return err
	}
	err := sqlite.Backup(ctx, o.database(), o.file, collector.DayRecords...)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: choose the name of a new file, such as one with the date and the time, or remove this one", err)
	}
	if err != nil {
		return err
	}
	written, err := os.Stat(o.file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "Wrote %s, %d bytes\n", o.file, written.Size())
	return err
}

// checkData returns an error if the directory has no data.
func (o *options) checkData() error {
	_, err := os.Stat(o.database())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-data or FOOTFALL_DATA: there is no data in this directory: %w", err)
	}
	return err
}

// restore puts a backup in the place of the file.
func restore(ctx context.Context, file, backup string, stdout io.Writer) error {
	kept, err := sqlite.Restore(ctx, file, backup, []string{account.KindSession}, account.Check)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "Restored", file)
	for _, old := range kept {
		fmt.Fprintln(stdout, "Kept the old data as", old)
	}
	if len(kept) > 0 {
		fmt.Fprintln(stdout, "Delete the old data when you do not need it: it has the salt of its last day's visitors.")
	}
	fmt.Fprintln(stdout, "Keys and the password are those of the backup: revoke the keys that were revoked since. All sessions have ended.")
	return nil
}

func check(ctx context.Context, o *options, stdout, _ io.Writer) error {
	file := o.file
	if file == "" {
		if err := o.checkData(); err != nil {
			return err
		}
		file = o.database()
	}
	err := sqlite.Check(ctx, file, account.SiteKinds...)
	if err == nil || errors.Is(err, sqlite.ErrPrecomputed) {
		err = cmp.Or(sqlite.CheckRecords(ctx, file, account.Check), err)
	}
	if err != nil {
		return err
	}
	left, err := sqlite.Unswept(ctx, file)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, "No damage found in", file)
	if left > 0 {
		fmt.Fprintf(stdout, "Texts of removed events, such as paths: %d are still in the file. The service removes them while it runs.\n", left)
	}
	return nil
}

// database returns the file of the data.
func (o *options) database() string { return filepath.Join(o.data, "footfall.db") }

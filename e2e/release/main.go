// Release checks that a version of all public modules can be released and tags it in the local
// repository. It pushes nothing.
//
//	go run ./e2e/release -version v0.1.0
//	go run ./e2e/release -next v0.2.0
//	go run ./e2e/release -api
//
// The first form requires a clean tree. All requirements among the modules and the changelog must
// name the version; gorelease, which reports the changes of the API, and `make ci`, which -passed skips, must succeed.
// It creates one tag for each public module. The second form sets the requirements to the version after it.
// The third form writes the exported API of each public module to the folder api.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "check and tag this `version`, such as v0.1.0")
	next := flag.String("next", "", "set the requirements among the modules to this `version`")
	passed := flag.Bool("passed", false, "skip make ci, because it has passed for this commit")
	api := flag.Bool("api", false, "write the exported API of each public module to the folder api")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *api {
		err = record(ctx)
	} else {
		err = run(ctx, *version, *next, *passed, os.Stdout)
	}
	if err != nil {
		stop()
		log.Fatal(err)
	}
}

func run(ctx context.Context, version, next string, passed bool, out io.Writer) error {
	if (version == "") == (next == "") {
		return errors.New("set either -version or -next, such as -version v0.1.0")
	}
	r, err := openThis(ctx)
	if err != nil {
		return err
	}
	if next != "" {
		return r.require(next)
	}
	if err := r.check(ctx, version); err != nil {
		return err
	}
	if err := r.compare(ctx, version, out); err != nil {
		return err
	}
	if !passed {
		if err := r.ci(ctx); err != nil {
			return err
		}
	}
	tags, err := r.tag(ctx, version)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "created %d tags; to publish them, and then the commands:\n\n"+
		"git push --atomic origin %s\ngh workflow run release.yml --ref %s\n", len(tags), strings.Join(tags, " "), version)
	return err
}

// record writes the exported API.
func record(ctx context.Context) error {
	r, err := openThis(ctx)
	if err != nil {
		return err
	}
	return r.writeAPI(ctx)
}

// openThis opens the repository of the working directory.
func openThis(ctx context.Context) (*repo, error) {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	return openRepo(strings.TrimSpace(root))
}

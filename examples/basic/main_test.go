package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footfall-dev/footfall/footfalltest"
)

// run builds and runs the program, and returns what it printed on both streams.
func run(t *testing.T, env ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	binary := filepath.Join(t.TempDir(), "basic")
	if built, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, built)
	}
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestOneEventArrives(t *testing.T) {
	t.Parallel()
	api := footfalltest.NewAPI(t)
	out, err := run(t, "FOOTFALL_BASE_URL="+api.URL, "FOOTFALL_API_KEY="+footfalltest.Key, "FOOTFALL_SITE_ID="+footfalltest.SiteID)
	if err != nil || out != "delivered 1, rejected 0, lost 0\n" {
		t.Fatalf("printed %q, ended with %v", out, err)
	}
	events := api.Events()
	if len(events) != 1 || events[0].Name != "checkout_completed" || events[0].Props["amount"] != 4999.0 {
		t.Fatalf("arrived: %+v", events)
	}
}

func TestErrorNamesTheMissingEnvironment(t *testing.T) {
	t.Parallel()
	variables := []string{"FOOTFALL_BASE_URL", "FOOTFALL_API_KEY", "FOOTFALL_SITE_ID"}
	out, err := run(t, variables[0]+"=", variables[1]+"=", variables[2]+"=")
	if err == nil {
		t.Fatal("it ended as if all were well")
	}
	for _, name := range variables {
		if strings.Count(out, name) != 1 {
			t.Fatalf("printed %q", out)
		}
	}
}

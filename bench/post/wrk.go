package post

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/footfall-dev/footfall/bench/post/child"
)

// haveWrk reports whether wrk is installed.
func haveWrk() bool {
	_, err := exec.LookPath("wrk")
	return err == nil
}

// script makes wrk send the same request as the others, formatted once.
var script = fmt.Sprintf(`wrk.method = "POST"
wrk.headers["User-Agent"] = %q
wrk.headers["Authorization"] = %q
wrk.headers["Accept"] = %q
wrk.headers["Content-Type"] = %q
wrk.headers["Idempotency-Key"] = %q
wrk.body = '%s'
`, userAgent, "Bearer "+apiKey, jsonType, jsonType, idempotencyKey, body)

// runWrk runs wrk without a warm-up, for whole seconds, because it supports no others.
func runWrk(ctx context.Context, o *order) (*result, error) {
	dir, err := os.MkdirTemp("", "footfall-wrk-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "post.lua")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, err
	}
	seconds := max(1, int(o.Window.Round(time.Second)/time.Second))
	cmd := exec.CommandContext(ctx, "wrk", "-t1", "-c"+strconv.Itoa(o.InFlight), "-d"+strconv.Itoa(seconds)+"s", "-s", file, o.URL+"/v1/events")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := child.StartOn(clientCore, cmd); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("wrk: %w: %s", err, out.Bytes())
	}
	r, err := readWrk(out.Bytes())
	if err != nil {
		return nil, err
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, nil
}

var (
	wrkTotal  = regexp.MustCompile(`(\d+) requests in ([\d.]+m?s)`)
	wrkFailed = regexp.MustCompile(`Non-2xx|Socket errors`)
)

// readWrk parses the output of wrk.
func readWrk(out []byte) (*result, error) {
	found := wrkTotal.FindSubmatch(out)
	if found == nil || wrkFailed.Match(out) {
		return nil, fmt.Errorf("wrk: %s", out)
	}
	events, err := strconv.ParseUint(string(found[1]), 10, 64)
	took, err2 := time.ParseDuration(string(found[2]))
	if err := errors.Join(err, err2); err != nil || events == 0 {
		return nil, fmt.Errorf("wrk: no figures: %w: %s", err, out)
	}
	return &result{Events: events, Took: took, Total: events}, nil
}

package post

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// workers is a group of goroutines that repeat a function until they are stopped.
type workers struct {
	running sync.WaitGroup
	count   atomic.Uint64
	ended   atomic.Bool
	failure atomic.Pointer[error]
}

// add starts a goroutine that calls do for each event.
func (w *workers) add(do func() error) {
	w.running.Go(func() {
		for !w.ended.Load() {
			if err := do(); err != nil {
				w.fail(err)
				return
			}
			w.count.Add(1)
		}
	})
}

// fail has its own err, so that the loop's err stays off the heap.
func (w *workers) fail(err error) { w.failure.Store(&err) }

func (w *workers) answered() uint64 { return w.count.Load() }

func (w *workers) stop() (total uint64, err error) {
	w.ended.Store(true)
	w.running.Wait()
	if failure := w.failure.Load(); failure != nil {
		err = *failure
	}
	return w.count.Load(), err
}

// startBare posts with net/http in the simplest way.
func startBare(o *order) (load, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	client := &http.Client{Transport: &http.Transport{
		Protocols: &protocols, DisableCompression: true, MaxIdleConnsPerHost: o.InFlight,
	}}
	header := http.Header{
		"Content-Type":    {jsonType},
		"Authorization":   {"Bearer " + apiKey},
		"Accept":          {jsonType},
		"User-Agent":      {userAgent},
		"Idempotency-Key": {idempotencyKey},
	}
	var w workers
	for range o.InFlight {
		w.add(func() error { return postBare(client, o.URL+"/v1/events", header) })
	}
	return &w, nil
}

func postBare(client *http.Client, url string, header http.Header) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("post: %s", resp.Status)
	}
	return nil
}

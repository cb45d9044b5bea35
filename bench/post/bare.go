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

// crew is a group of goroutines that repeat a function until they are stopped.
type crew struct {
	running sync.WaitGroup
	count   atomic.Uint64
	ended   atomic.Bool
	failure atomic.Pointer[error]
}

// add starts a goroutine that calls do for each event.
func (c *crew) add(do func() error) {
	c.running.Go(func() {
		for !c.ended.Load() {
			if err := do(); err != nil {
				c.fail(err)
				return
			}
			c.count.Add(1)
		}
	})
}

// fail has its own err, so that the loop's err stays off the heap.
func (c *crew) fail(err error) { c.failure.Store(&err) }

func (c *crew) answered() uint64 { return c.count.Load() }

func (c *crew) stop() (total uint64, err error) {
	c.ended.Store(true)
	c.running.Wait()
	if failure := c.failure.Load(); failure != nil {
		err = *failure
	}
	return c.count.Load(), err
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
	var c crew
	for range o.InFlight {
		c.add(func() error { return postBare(client, o.URL+"/v1/events", header) })
	}
	return &c, nil
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

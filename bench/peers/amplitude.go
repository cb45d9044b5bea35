package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/amplitude/analytics-go/amplitude"
	"github.com/amplitude/analytics-go/amplitude/types"
)

func amplitudePeer() Peer {
	return Peer{
		Name: "amplitude", Module: "github.com/amplitude/analytics-go",
		Setting:  "NewClient with ServerURL and ExecuteCallback; a discarded log; MaxStorageCapacity is the bound",
		OpenWith: openAmplitude, Decode: decodeAmplitude, Answer: answerJSON(`{"code":200}`),
	}
}

func openAmplitude(s Setup) (Client, error) {
	c := &amplitudeClient{detour: through(s.Transport)}
	cfg := amplitude.NewConfig("key")
	cfg.ServerURL, cfg.Logger, cfg.MaxStorageCapacity = cmp.Or(c.detour, s.URL)+"/2/httpapi", silent{}, s.Queue
	cfg.ExecuteCallback = func(result types.ExecuteResult) {
		if result.Code != http.StatusOK {
			c.lost.Add(1)
		}
	}
	c.Client = amplitude.NewClient(cfg)
	return c, nil
}

type amplitudeClient struct {
	amplitude.Client
	detour string // may be empty
	lost   atomic.Int64
}

func (c *amplitudeClient) Track(n int) error {
	props := map[string]any{"plan": "pro", "amount": 4999, "currency": "EUR", "rate": 0.19}
	if n != 0 {
		props["n"] = n
	}
	c.Client.Track(amplitude.Event{UserID: "user_1", EventType: "checkout_completed", EventProperties: props})
	return nil
}

func (c *amplitudeClient) Flush(ctx context.Context) error { return do(ctx, c.Client.Flush) }
func (c *amplitudeClient) Lost() int                       { return int(c.lost.Load()) }

func (c *amplitudeClient) Close(context.Context) error {
	c.Shutdown()
	detours.Delete(c.detour)
	return nil
}

func decodeAmplitude(r *http.Request, body []byte) ([]int, error) {
	var request struct {
		Events []struct {
			Properties numbered `json:"event_properties"`
		}
	}
	if err := decodeJSON(r, body, &request); err != nil {
		return nil, err
	}
	ns := make([]int, len(request.Events))
	for i, event := range request.Events {
		ns[i] = event.Properties.N
	}
	return ns, nil
}

// amplitude always uses http.DefaultTransport. A registered scheme redirects it to another
// RoundTripper.
const detourScheme = "footfall-bench"

var (
	detours      sync.Map // http.RoundTripper by URL
	lastDetour   atomic.Int64
	allowDetours = sync.OnceFunc(func() {
		http.DefaultTransport.(*http.Transport).RegisterProtocol(detourScheme, detour{})
	})
)

// through returns a URL that leads http.DefaultTransport to t, or "" for nil.
func through(t http.RoundTripper) string {
	if t == nil {
		return ""
	}
	allowDetours()
	url := fmt.Sprintf("%s://n%d", detourScheme, lastDetour.Add(1))
	detours.Store(url, t)
	return url
}

type detour struct{}

func (detour) RoundTrip(r *http.Request) (*http.Response, error) {
	t, ok := detours.Load(detourScheme + "://" + r.URL.Host)
	if !ok {
		return nil, errors.New("peers: a request after Close")
	}
	return t.(http.RoundTripper).RoundTrip(r)
}

package caller

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/footfall-dev/footfall/bench/peers"
	"github.com/footfall-dev/footfall/bench/settler"
)

// consumer receives the requests of an SDK without a network, at almost no cost.
type consumer interface {
	consumed() (int, error)
}

// roundTripper is the consumer of all SDKs that use HTTP. It reads each request as a socket
// would, and answers. It decodes the requests after the measurement.
type roundTripper struct {
	peer   peers.Peer
	answer *httptest.ResponseRecorder
	keep   bool

	mu   sync.Mutex
	kept []request
}

type request struct {
	*http.Request
	body []byte
}

func newRoundTripper(peer peers.Peer, keep bool) *roundTripper {
	t := &roundTripper{peer: peer, answer: httptest.NewRecorder(), keep: keep}
	peer.Answer(t.answer)
	return t
}

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_ = r.Body.Close()
	if t.keep {
		t.mu.Lock()
		t.kept = append(t.kept, request{r, body})
		t.mu.Unlock()
	}
	return &http.Response{
		StatusCode: t.answer.Code, Status: fmt.Sprint(t.answer.Code, " ", http.StatusText(t.answer.Code)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: t.answer.Header(), Request: r,
		Body: io.NopCloser(bytes.NewReader(t.answer.Body.Bytes())), ContentLength: int64(t.answer.Body.Len()),
	}, nil
}

func (t *roundTripper) consumed() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := 0
	for _, r := range t.kept {
		ns, err := t.peer.Decode(r.Request, r.body)
		if err != nil {
			return 0, err
		}
		count += len(ns)
	}
	t.kept = nil // hundreds of megabytes, which would burden the next SDK
	return count, nil
}

// settled is a Settler as a consumer.
type settled struct{ settler.Settler }

func (s *settled) consumed() (int, error) { return int(s.Settled.Load()), nil }

// contestant is an SDK with its consumer.
type contestant struct {
	name, setting, fixed string

	// open starts the SDK with room for queue events, or its default if 0. With keep the
	// consumer keeps requests, to count their events.
	open func(queue int, keep bool) (peers.Client, consumer, error)
}

// contestants returns the peers that send in the background.
func contestants() []contestant {
	var all []contestant
	for _, peer := range peers.All() {
		if peer.Synchronous {
			continue
		}
		all = append(all, contestant{peer.Name, peer.Setting, peer.Fixed, func(queue int, keep bool) (peers.Client, consumer, error) {
			t := newRoundTripper(peer, keep)
			client, err := peer.OpenWith(peers.Setup{URL: "http://127.0.0.1:9", Transport: t, Queue: queue})
			return client, t, err
		}})
	}
	return all
}

// Contestants that have targets.
const (
	footfallName = "Footfall"
	settledName  = "Footfall, settled at once"
)

func overSettler() contestant {
	return contestant{name: settledName, setting: "as Footfall, over a Transport that settles what it takes", open: func(queue int, _ bool) (peers.Client, consumer, error) {
		t := &settled{}
		client, err := peers.FootfallOver(t, queue)
		return client, t, err
	}}
}

package peers

import (
	"cmp"
	"context"
	"net/http"

	"github.com/mixpanel/mixpanel-go"
)

func mixpanelPeer() Peer {
	return Peer{
		Name: "mixpanel", Module: "github.com/mixpanel/mixpanel-go", Synchronous: true,
		Setting:  "NewApiClient with ProxyApiLocation; it has no queue: Track makes the request and waits for the answer",
		OpenWith: openMixpanel, Decode: decodeMixpanel, Answer: answerJSON(`{"status":1,"error":""}`),
	}
}

func openMixpanel(s Setup) (Client, error) {
	client := &http.Client{Transport: cmp.Or(s.Transport, http.DefaultTransport)}
	return mixpanelClient{mixpanel.NewApiClient("key", mixpanel.ProxyApiLocation(s.URL), mixpanel.HttpClient(client))}, nil
}

type mixpanelClient struct{ api *mixpanel.ApiClient }

func (c mixpanelClient) Track(n int) error {
	props := map[string]any{"plan": "pro", "amount": 4999, "currency": "EUR", "rate": 0.19}
	if n != 0 {
		props["n"] = n
	}
	return c.api.Track(context.Background(), []*mixpanel.Event{c.api.NewEvent("checkout_completed", "user_1", props)})
}

func (c mixpanelClient) Flush(context.Context) error { return ErrNoFlush }
func (c mixpanelClient) Close(context.Context) error { return nil }

func decodeMixpanel(r *http.Request, body []byte) ([]int, error) {
	var events []struct{ Properties numbered }
	if err := decodeJSON(r, body, &events); err != nil {
		return nil, err
	}
	ns := make([]int, len(events))
	for i, event := range events {
		ns[i] = event.Properties.N
	}
	return ns, nil
}

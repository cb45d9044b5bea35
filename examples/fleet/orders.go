package main

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// atOnce bounds the orders that wait for an answer.
const atOnce = 256

// sendOrders sends orders to the shops in turn until ctx ends. It returns when all are answered.
func (f *fleet) sendOrders(ctx context.Context) {
	transport := &http.Transport{MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	limit := rate.NewLimiter(rate.Limit(f.opts.traffic), 1+f.opts.traffic/10)
	free := make(chan struct{}, atOnce)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for i := 0; limit.Wait(ctx) == nil; i++ {
		s := f.shopFor(i)
		free <- struct{}{}
		waiting.Go(func() {
			f.order(context.WithoutCancel(ctx), client, s)
			<-free
		})
	}
}

// shopFor returns the next shop in turn. At most one of them is nil.
func (f *fleet) shopFor(i int) *shop {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s := f.shops[i%len(f.shops)]; s != nil {
		return s
	}
	return f.shops[(i+1)%len(f.shops)]
}

// order sends an order, once: a shop that was killed may have tracked its event.
func (f *fleet) order(ctx context.Context, client *http.Client, s *shop) {
	number := f.ledger.send(s.row)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.ready+"/orders?number="+strconv.Itoa(number), nil)
	if err != nil {
		return
	}
	answer, err := client.Do(r)
	if err != nil {
		return
	}
	_ = answer.Body.Close() // it is empty
	if answer.StatusCode == http.StatusNoContent {
		f.ledger.update(number, func(o *order) { o.answered = true })
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
	"github.com/footfall-dev/footfall/examples/shop/storefront"
)

// service is the collector. It is in this process for the demonstration only.
type service struct {
	url       string
	key       string // for the shop's events
	site      account.Site
	collector *collector.Collector
	store     store.Store
	dir       string // of the data
	forgets   bool   // dir is removed in the end
	end       context.CancelFunc
	ended     chan error
}

// told is a store that reports each committed event. It embeds the store's own type: the
// collector uses methods of it that store.Store does not have.
type told struct {
	*sqlite.Store
	of func(store.Event)
}

var (
	_ store.Store     = told{}
	_ store.Inspector = told{}
)

// Add implements store.Store.
func (s told) Add(ctx context.Context, e store.Event) (added bool, err error) {
	added, err = s.Store.Add(ctx, e)
	if added {
		s.of(e)
	}
	return added, err
}

// openService starts a collector with the shop as a site. Its data is in dir, or in a
// temporary directory if dir is empty.
func openService(ctx context.Context, listener net.Listener, dir, shopURL string, log *slog.Logger, of func(store.Event)) (*service, error) {
	s := &service{url: urlOf(listener.Addr()), ended: make(chan error, 1)}
	if err := s.open(ctx, dir, log, of); err != nil {
		return nil, errors.Join(err, s.forget())
	}
	if err := s.register(ctx, strings.TrimPrefix(shopURL, "http://")); err != nil {
		return nil, errors.Join(err, s.collector.Close(ctx), s.store.Close(), s.forget())
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the shop
	s.end = end
	go func() { s.ended <- s.collector.Serve(serving, listener) }()
	return s, nil
}

func (s *service) open(ctx context.Context, dir string, log *slog.Logger, of func(store.Event)) (err error) {
	if s.dir = dir; dir == "" {
		if s.dir, err = os.MkdirTemp("", "footfall-shop-"); err != nil {
			return err
		}
		s.forgets = true
	}
	opened, err := sqlite.Open(ctx, sqlite.Config{File: filepath.Join(s.dir, "footfall.db"), Logger: log})
	if err != nil {
		return err
	}
	s.store = opened
	s.collector, err = collector.New(ctx, collector.Config{
		Store:        told{opened, of},
		PublicURL:    s.url,
		BrowserRate:  maxTraffic, // all customers come from this machine
		BrowserBurst: maxTraffic,
		Logger:       log,
	})
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	return nil
}

// register makes the shop a site of the account, and a key for its events.
func (s *service) register(ctx context.Context, domain string) (err error) {
	acc := s.collector.Account()
	known := false
	if s.site, known = acc.SiteOf(domain); !known {
		if s.site, err = acc.AddSite(ctx, storefront.Name, domain); err != nil {
			return err
		}
		if err := addGoals(ctx, acc, s.site.ID); err != nil {
			return err
		}
	}
	const label = "the shop"
	for _, k := range acc.Keys() {
		if k.Label == label { // of an earlier run; its secret is unknown
			s.key, _, err = acc.RotateKey(ctx, k.ID)
			return err
		}
	}
	s.key, _, err = acc.IssueKey(ctx, label)
	return err
}

// addGoals adds the goals and funnels of the shop.
func addGoals(ctx context.Context, acc *account.Account, site string) error {
	_, bought := acc.SaveGoal(ctx, account.Goal{Site: site, Name: "Bought something", Match: store.Match{Event: "checkout_completed"}})
	_, looked := acc.SaveGoal(ctx, account.Goal{Site: site, Name: "Looked at a product", Match: store.Match{Page: "/products/*"}})
	_, byEvents := acc.SaveFunnel(ctx, account.Funnel{Site: site, Name: "Orders, as the server saw them", Steps: []store.Match{
		{Event: "product_viewed"}, {Event: "basket_added"}, {Event: "checkout_started"}, {Event: "checkout_completed"},
	}})
	_, byPages := acc.SaveFunnel(ctx, account.Funnel{Site: site, Name: "From the shelf to the thanks", Steps: []store.Match{
		{Page: "/"}, {Page: "/products/*"}, {Page: "/basket"}, {Page: "/thanks"},
	}})
	return errors.Join(bought, looked, byEvents, byPages)
}

// dashboard returns the address of the dashboard. On the first start it is a link that sets
// the password.
func (s *service) dashboard() string {
	if setup := s.collector.SetupURL(); setup != "" {
		return setup
	}
	return s.url
}

// close stops the collector, after the tracker has been closed.
func (s *service) close(ctx context.Context) error {
	s.end()
	err := errors.Join(<-s.ended, s.collector.Close(ctx), s.store.Close(), s.forget())
	if err != nil {
		return fmt.Errorf("the collector did not close well: %w", err)
	}
	return nil
}

func (s *service) forget() error {
	if !s.forgets {
		return nil
	}
	return os.RemoveAll(s.dir)
}

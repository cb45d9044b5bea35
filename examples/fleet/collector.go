package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/footfall-dev/footfall/collector"
	"github.com/footfall-dev/footfall/collector/account"
	"github.com/footfall-dev/footfall/collector/sqlite"
	"github.com/footfall-dev/footfall/collector/store"
)

// domain is the site of the shops.
const domain = "shop.example.com"

// service is the collector, in the process of the fleet.
type service struct {
	url       string
	key       string
	site      account.Site
	collector *collector.Collector
	store     store.Store
	log       *os.File
	end       context.CancelFunc
	ended     chan error
}

// observed is a store that calls added with each event that is added, including an event that was added
// before and is not counted again. It embeds *sqlite.Store because the collector uses methods that
// store.Store does not have.
type observed struct {
	*sqlite.Store
	added func(store.Event)
}

// Add implements store.Store.
func (s observed) Add(ctx context.Context, e store.Event) (added bool, err error) {
	added, err = s.Store.Add(ctx, e)
	if err == nil {
		s.added(e)
	}
	return added, err
}

func openService(ctx context.Context, dir string, added func(store.Event)) (s *service, err error) {
	s = &service{ended: make(chan error, 1)}
	if s.log, err = os.Create(filepath.Join(dir, "collector.log")); err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	s.url = "http://" + listener.Addr().String()
	opened, err := sqlite.Open(ctx, sqlite.Config{File: filepath.Join(dir, "footfall.db"), Logger: log})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), s.log.Close())
	}
	s.store = opened
	s.collector, err = collector.New(ctx, collector.Config{Store: observed{opened, added}, PublicURL: s.url, Logger: log})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), s.store.Close(), s.log.Close())
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the relays
	s.end = end
	go func() { s.ended <- s.collector.Serve(serving, listener) }()
	if err := s.register(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// register adds the site and a key.
func (s *service) register(ctx context.Context) (err error) {
	acc := s.collector.Account()
	if s.site, err = acc.AddSite(ctx, "Fleet", domain); err != nil {
		return err
	}
	s.key, _, err = acc.IssueKey(ctx, "the relays")
	return err
}

// dashboard returns the address of the dashboard.
func (s *service) dashboard() string { return cmp.Or(s.collector.SetupURL(), s.url) }

// count calls f with each event that is counted.
func (s *service) count(ctx context.Context, f func(store.Event)) error {
	q := store.Query{Site: s.site.ID, From: time.Now().AddDate(0, 0, -1), To: time.Now().AddDate(0, 0, 1)}
	return s.store.Export(ctx, q, func(e store.Event) error {
		f(e)
		return nil
	})
}

// close stops the collector.
func (s *service) close() error {
	s.end()
	return errors.Join(<-s.ended, s.collector.Close(context.Background()), s.store.Close(), s.log.Close())
}

// Package account keeps sites, API keys, goals, funnels, the password and sessions of a
// collector. It holds all of them in memory, because the API reads them with each event, and
// writes changes through to a store.
package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// Site is a registered site. Its ID never changes.
type Site struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Domain    string    `json:"domain"` // lower case host name, perhaps with a port; unique
	Paused    bool      `json:"paused,omitempty"`
	OwnPages  bool      `json:"own_pages,omitempty"` // server events must have a URL on Domain
	Zone      string    `json:"zone,omitempty"`      // of its days: a name of the IANA database such as Europe/Berlin; empty for UTC
	CreatedAt time.Time `json:"created_at"`
}

// Key is an API key without its secret. Only a hash of the secret is stored.
type Key struct {
	ID        string    `json:"id"`
	Label     string    `json:"label"`
	Hint      string    `json:"hint"` // the secret's last four characters
	CreatedAt time.Time `json:"created_at"`
	Hash      []byte    `json:"hash"` // SHA-256 of the secret
	Scope     Scope     `json:"scope,omitempty"`
}

// Scope is what a key allows. Each key can list the sites.
type Scope string

// Scopes. Keys of earlier versions are for events.
const (
	ScopeEvents Scope = ""      // sends events
	ScopeStats  Scope = "stats" // reads figures
)

// Goal is reached by each event that matches.
type Goal struct {
	ID    string      `json:"id"`
	Site  string      `json:"site"`
	Name  string      `json:"name"`
	Match store.Match `json:"match"`
}

// Funnel is a sequence of two to eight steps.
type Funnel struct {
	ID    string        `json:"id"`
	Site  string        `json:"site"`
	Name  string        `json:"name"`
	Steps []store.Match `json:"steps"`
}

// FieldError reports an invalid field of a form.
type FieldError struct {
	Field  string // name, domain, label, match, steps, password
	Reason string
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

// ErrNotFound is returned for an unknown ID.
var ErrNotFound = errors.New("account: not found")

// Account is safe for concurrent use. Its methods return copies.
type Account struct {
	store store.Store

	mu        sync.RWMutex
	sites     map[string]Site
	domains   map[string]string // to ids of sites
	keys      map[string]Key
	goals     map[string]Goal
	funnels   map[string]Funnel
	sessions  map[string]session // by hash of the token
	password  *password
	deletions map[string]Deletion // by ID of the site
	deleted   chan struct{}       // of length 1
	orphans   map[string]Orphan   // by ID of the site
	setup     string              // one-time token, until there is a password
}

// Kinds of records.
const (
	kindSite     = "site"
	kindKey      = "key"
	kindGoal     = "goal"
	kindFunnel   = "funnel"
	kindPassword = "password"
	kindDeletion = "deletion"
)

// KindSession is the kind of the records of sessions. A restored backup should have none: sessions that
// ended since it was made would be valid again.
const KindSession = "session"

// SiteKinds are the kinds of records whose ID is the ID of a site that exists, or whose events are
// being removed.
var SiteKinds = []string{kindSite, kindDeletion}

// Open reads the account from st.
func Open(ctx context.Context, st store.Store) (*Account, error) {
	a := &Account{store: st, setup: newSecret(""), deleted: make(chan struct{}, 1)}
	if err := a.load(func(kind string) ([]store.Record, error) { return st.Records(ctx, kind) }); err != nil {
		return nil, err
	}
	return a, nil
}

// Check returns an error if a record is damaged, so that [Open] would fail. It gets the records
// of each kind from read.
func Check(read func(kind string) ([]store.Record, error)) error {
	return new(Account).load(read)
}

// load fills in all that is stored.
func (a *Account) load(read func(kind string) ([]store.Record, error)) (err error) {
	load(read, kindSite, &a.sites, &err)
	load(read, kindKey, &a.keys, &err)
	load(read, kindGoal, &a.goals, &err)
	load(read, kindFunnel, &a.funnels, &err)
	load(read, KindSession, &a.sessions, &err)
	load(read, kindDeletion, &a.deletions, &err)
	load(read, KindOrphan, &a.orphans, &err)
	var passwords map[string]*password
	load(read, kindPassword, &passwords, &err)
	if err != nil {
		return fmt.Errorf("account: %w", err)
	}
	a.password = passwords[passwordID]
	a.domains = make(map[string]string, len(a.sites))
	for id, s := range a.sites {
		a.domains[s.Domain] = id
	}
	return nil
}

package account

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Sites returns all sites, by domain.
func (a *Account) Sites() []Site {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return sorted(a.sites, func(Site) bool { return true }, func(x, y Site) int { return cmp.Compare(x.Domain, y.Domain) })
}

// sorted returns the values of m that pass keep, in order.
func sorted[T any](m map[string]T, keep func(T) bool, order func(x, y T) int) []T {
	all := make([]T, 0, len(m))
	for _, v := range m {
		if keep(v) {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, order)
	return all
}

// Site returns the site with this id.
func (a *Account) Site(id string) (Site, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	s, ok := a.sites[id]
	return s, ok
}

// SiteOf returns the site with this domain, in any case.
func (a *Account) SiteOf(domain string) (Site, bool) {
	domain = strings.ToLower(domain)
	a.mu.RLock()
	defer a.mu.RUnlock()
	id, ok := a.domains[domain]
	return a.sites[id], ok
}

// AddSite registers a site whose days are in UTC. An empty name defaults to the domain.
func (a *Account) AddSite(ctx context.Context, name, domain string) (Site, error) {
	return a.AddSiteIn(ctx, name, domain, "")
}

// AddSiteIn registers a site whose days are in a time zone of the IANA database, "" for UTC.
func (a *Account) AddSiteIn(ctx context.Context, name, domain, zone string) (Site, error) {
	s := Site{ID: newID("site_"), Name: name, Domain: domain, Zone: zone, CreatedAt: time.Now().UTC().Truncate(time.Second)}
	err := a.putSite(ctx, &s)
	return s, err
}

// ChangeSite changes name, domain, zone, Paused and OwnPages of the site with s.ID.
func (a *Account) ChangeSite(ctx context.Context, s Site) error {
	old, ok := a.Site(s.ID)
	if !ok {
		return ErrNotFound
	}
	s.CreatedAt = old.CreatedAt
	return a.putSite(ctx, &s)
}

func (a *Account) putSite(ctx context.Context, s *Site) error {
	if err := s.clean(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.saveSite(ctx, s)
}

// clean checks domain, zone and name.
func (s *Site) clean() (err error) {
	if s.Zone, err = cleanZone(s.Zone); err != nil {
		return err
	}
	if s.Domain, err = cleanDomain(s.Domain); err != nil {
		return err
	}
	s.Name, err = cleanName("name", cmp.Or(strings.TrimSpace(s.Name), s.Domain))
	return err
}

// saveSite saves a site that is clean. The caller holds the lock.
func (a *Account) saveSite(ctx context.Context, s *Site) error {
	if id, taken := a.domains[s.Domain]; taken && id != s.ID {
		return &FieldError{"domain", "belongs to another site"}
	}
	was := a.sites[s.ID].Domain
	if err := save(ctx, a, kindSite, s.ID, a.sites, *s); err != nil {
		return err
	}
	delete(a.domains, was)
	a.domains[s.Domain] = s.ID
	return nil
}

// maxName is the longest name that the owner may choose, in characters.
const maxName = 120

func cleanName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", &FieldError{field, "is empty"}
	case !utf8.ValidString(name):
		return "", &FieldError{field, "is not valid UTF-8"}
	case utf8.RuneCountInString(name) > maxName:
		return "", &FieldError{field, "is longer than " + strconv.Itoa(maxName) + " characters"}
	}
	return name, nil
}

// cleanDomain returns a host name as browsers write it. It removes a scheme and a path,
// because people paste whole URLs.
func cleanDomain(domain string) (string, error) {
	domain = strings.ToLower(strings.TrimSpace(domain))
	domain = strings.TrimPrefix(strings.TrimPrefix(domain, "https://"), "http://")
	domain, _, _ = strings.Cut(domain, "/")
	if domain == "" {
		return "", &FieldError{"domain", "is empty"}
	}
	host := domain
	if name, port, err := net.SplitHostPort(domain); err == nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "", &FieldError{"domain", "has an invalid port"}
		}
		host = name
	}
	if !isHostName(host) && !isAddress(host) {
		return "", &FieldError{"domain", "must be a host name such as shop.example.com; write an international name in its xn-- form"}
	}
	return domain, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}

// isHostName checks the form of RFC 1123, section 2.1.
func isHostName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

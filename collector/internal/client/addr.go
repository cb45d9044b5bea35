// Package client determines the address of a request's client, and whether the client is a
// person's browser.
package client

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Addr returns the address of the client. X-Forwarded-For counts only if it comes
// from a trusted proxy, and is read from the right: entries left of the first address that
// is not a trusted proxy may be forged.
func Addr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	client := Peer(r)
	if !isTrusted(client, trusted) {
		return client
	}
	for _, line := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for line != "" {
			i := strings.LastIndexByte(line, ',')
			addr, ok := parseForwarded(line[i+1:])
			if !ok {
				return client
			}
			if client = addr; !isTrusted(client, trusted) {
				return client
			}
			line = line[:max(i, 0)]
		}
	}
	return client
}

// parseForwarded parses an address, with or without a port.
func parseForwarded(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return plainAddr(addr), true
	}
	both, err := netip.ParseAddrPort(text)
	return plainAddr(both.Addr()), err == nil
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// IsHidden reports whether the client's address is not known, because a trusted proxy does not
// send it.
func IsHidden(r *http.Request, trusted []netip.Prefix) bool {
	return len(r.Header["X-Forwarded-For"]) == 0 && isTrusted(Peer(r), trusted)
}

// Peer returns the address of the other end of the connection: a client, or a proxy.
func Peer(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid on unix sockets: all of them are one client
	return plainAddr(peer.Addr())
}

func isTrusted(a netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
}

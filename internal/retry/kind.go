package retry

import "hash/maphash"

// Kind identifies the events of one site and name. A failure is first taken to concern events of
// its kind only, because the API may refuse a site or a name and accept the others.
type Kind struct{ Site, Name uint64 }

var seed = maphash.MakeSeed()

// NewKind returns the Kind of events with a site and a name.
func NewKind(site, name []byte) Kind {
	return Kind{maphash.Bytes(seed, site), maphash.Bytes(seed, name)}
}

package spool

// Stats describes the file and counts events since New. Unlike the tracker's counts, they
// include events of earlier processes.
type Stats struct {
	Events uint64 // in the file, including events in flight
	Bytes  uint64 // of Events: JSON bodies and 36 bytes each

	Delivered  uint64 // taken from the file and accepted by the API
	Rejected   uint64 // taken from the file and refused by the API for good
	HandedOver uint64 // taken from the file and stored by Config.Next
	Dropped    uint64 // the oldest, removed unsent at Config.MaxBytes
	Expired    uint64 // removed unsent at Config.MaxAge
	Corrupt    uint64 // found damaged; their file was set aside
	Adopted    uint64 // found in files of processes that have ended, including earlier runs

	Degraded bool // the file cannot be used: events are in the tracker's memory only
}

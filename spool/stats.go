package spool

// Stats says what is in the file, and counts events since New. Unlike the tracker's, the
// counts include events that an earlier process left.
type Stats struct {
	Events uint64 // in the file now, with those on their way
	Bytes  uint64 // of those: JSON bodies and 36 bytes each

	Delivered  uint64 // taken from the file and accepted by the API
	Rejected   uint64 // taken from the file and refused by the API for good
	HandedOver uint64 // taken from the file and stored by Config.Next, which then answers for them
	Dropped    uint64 // the oldest, removed unsent at Config.MaxBytes
	Expired    uint64 // removed unsent at Config.MaxAge
	Corrupt    uint64 // found damaged; the file that they are in was set aside
	Adopted    uint64 // found in files of processes that have ended: this program's last run, or others

	Degraded bool // the file cannot be used: events are in the tracker's memory only
}

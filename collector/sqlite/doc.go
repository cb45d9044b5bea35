// Package sqlite implements store.Store with one SQLite file. One goroutine writes it, in
// transactions that many callers share, and a pool of connections reads it.
//
// # Durability
//
// The file is in WAL mode with synchronous=FULL: each commit syncs the log to disk before Add
// returns. So acknowledged events survive a crash of the process and of the machine.
// synchronous=NORMAL would be faster and survive kill -9, but not a power failure: it syncs
// the log only at checkpoints.
//
// # Figures
//
// Besides events the store keeps precomputed data for reports. Rollups are the totals and
// tables of closed UTC days. Segments are encoded columns of some thousand events each, for
// reports about single events and for the current day. Both are made in the background and
// are always exact: a transaction that adds an event to their span removes them. Reports read
// other events one by one, so figures do not depend on them.
package sqlite

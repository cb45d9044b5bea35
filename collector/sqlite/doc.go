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
//
// # Parts
//
// A [Store] forwards each call to one of its parts. Calls go down this list, never up:
//
//   - sweeper removes texts that no event uses any more, and gives back space. Only the holder of its turn,
//     which each of its steps takes, uses its state.
//   - compactor makes segments and rollups, and removes events. It owns the sets due and damage, and its
//     progress, which have one mutex each. It owns two turns: its rounds take one, and its steps and the
//     steps of Forget take the other. It owns the set unreadable, which its rounds use.
//   - reader owns the pool of connections that read, the limits of concurrent work, and a cache of
//     texts, which has a mutex. A reading is the snapshot of one report.
//   - writer owns the queue, and the goroutine that makes batches of it. Only that goroutine uses the
//     connection that writes and the state cached with it, so they need no mutex.
//   - file is the path, the lock against other processes, the context that Close ends, and the first
//     damage that was found.
//
// The writer reports what a transaction changed, and the reader what is damaged, through two functions
// that Open gives them: they add to the compactor's sets.
package sqlite

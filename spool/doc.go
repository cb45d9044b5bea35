// Package spool keeps the events of a [footfall.Tracker] on disk until the API has accepted
// them. They survive a crash, a deploy and an outage of days.
//
// A Spool is a transport between a tracker and another transport:
//
//	tracker, _, err := spool.Open(footfall.ConfigFromEnv(), spool.Config{Dir: "/var/lib/shop/events"})
//
// The tracker is used as without a Spool. Track costs about 1.4 times as much and does not wait
// for the disk: a goroutine writes the tracker's batches, each in one transaction. Another
// Transport, by default HTTP, delivers the events from the file, oldest first. An event leaves
// the file when the API has accepted it or refused it for good. After a restart the same bytes
// are sent with the same Idempotency-Key. Two kinds of events are sent out of order: events that
// failed and are sent again, and the circuit breaker's probes, which are random events among the
// next 1,024.
//
// # What is lost when
//
// An event in the file is safe, even if the process is killed or the power fails. Track returns
// before the event is in the file, TrackDurable after.
//
// A kill loses no event that Track has accepted. The tracker's queue is in a second file in the
// directory, which is mapped into memory: the system keeps what is written there when the process
// ends. The next process that uses the directory stores these events before it delivers any. The
// file has 31 MiB with the default bounds of the queue, and exists while the tracker runs.
//
// A power failure loses the events that are not in the file of events yet: at most
// footfall.Config.BatchSize events or the events of the last FlushInterval (50 ms by default),
// whichever is less, and the events of one transaction. A kill loses as many if the queue is not in
// a file: on systems other than Linux, macOS, FreeBSD, NetBSD and DragonFly BSD, or if the disk had
// no room for it at the start, which leaves a line in the log. Three kinds of events are never in
// that file: events above 64 KiB, events above 22 KiB that do not fit in a queue full of such
// events, and, while the disk fails, events that are sent again.
//
// Close stores the events that it cannot deliver in time. The tracker's Stats.Stored counts
// them, and they are no error. Flush waits until events are delivered.
//
// Events are given up, and counted, in two cases: the file has reached [Config.MaxBytes], or
// they have been in it for longer than [Config.MaxAge]. The wall clock does not matter.
//
// # When the disk fails
//
// If the directory cannot be used, or the disk is full or fails, the Spool logs one ERROR and
// sets Stats.Degraded. Events then stay in the tracker's memory, within its bounds, and are
// delivered from there as without a Spool. The Spool tries the file again after a second, and
// then less often, up to every 30 seconds.
//
// A file is verified when it is opened. A damaged file is renamed to <name>.corrupt-<time>,
// logged at ERROR and never deleted. Its readable events with correct checksums are still
// delivered.
//
// # Two processes
//
// A directory belongs to one process, unless all of them set [Config.Shared]. Then each process
// has a separate file, and takes over the files of processes that have ended, within 5 seconds.
package spool

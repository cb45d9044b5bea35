// Package spool keeps the events of a footfall.Tracker on disk until the API has them, so
// that they survive a crash, a deploy and an outage of days.
//
// A Spool stands between a tracker and its transport:
//
//	tracker, _, err := spool.Open(footfall.ConfigFromEnv(), spool.Config{Dir: "/var/lib/shop/events"})
//
// From then on the tracker is used as always. Track costs what it costs without, and
// waits for no disk: a goroutine writes what the tracker has batched, one transaction
// for all of it, and another Transport, by default HTTP, is fed from the file, oldest
// first. An event leaves the file when the API has accepted it or refused it for good.
// After a restart the same bytes go out with the same Idempotency-Key. Two kinds of events
// go out of order: those that failed and are sent again, and during an outage the circuit
// breaker's probes, which are taken from anywhere among the next 1,024 events.
//
// # What is lost when
//
// An event is safe once it is in the file, even if the process is killed or the power
// fails. Track returns before that; a kill loses what the tracker had not handed over
// yet: at most footfall.Config.BatchSize events or those of the last FlushInterval, which
// is 50 ms unless set, whichever is less, and what comes during one transaction. TrackDurable returns when
// its event is in the file.
//
// Close stores what it cannot deliver in time, which is then in the tracker's
// Stats.Stored and no error. Flush means delivered.
//
// Events are given up, and counted, in two cases: the file is at Config.MaxBytes, or
// they have been in it for longer than Config.MaxAge. The wall clock has no say in that.
//
// # When the disk fails
//
// A directory that cannot be used, a full disk or a failing one is told to the log once,
// at ERROR, and shows in Stats.Degraded. Events then stay in the tracker's memory,
// within its bounds, and are delivered from there as if there were no Spool; the file is
// tried again after a second, and then up to every 30 seconds.
//
// A file is verified as a whole when it is opened. One that is damaged is renamed to
// <name>.corrupt-<time>, which the log says at ERROR, and nothing deletes it; the events
// in it that can be reached and whose checksums are right are delivered all the same.
//
// # Two processes
//
// A directory belongs to one process, unless Config.Shared is set by all of them. Then
// each has a file of its own, and takes over the files of those that have ended, within
// 5 seconds.
package spool

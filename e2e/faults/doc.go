// Package faults holds tests that break things: processes are killed, the network fails in
// every way a proxy can make it fail, disks are full and files damaged. What must hold
// through all of it is that no event is lost that was promised to be safe, that each goes
// out with one Idempotency-Key and the same bytes however often, and that the application
// does not notice.
//
// The program in child is the application: tests start it, tell it what to do and kill it.
// The program in caller is another, which does nothing but track: TestAKillCostsFewEvents
// prints how many events a kill costs, with flags for other rates and intervals.
package faults

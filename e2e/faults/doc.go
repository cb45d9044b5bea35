// Package faults tests delivery under faults: processes are killed, the network fails in
// every way that a proxy can simulate, disks are full and files damaged. The tests assert
// that no event is lost that was promised to be safe, that all attempts of an event have the
// same Idempotency-Key and the same bytes, and that the application is not affected.
//
// The program in child is the application: tests start it, tell it what to do and kill it.
// The program in caller only tracks: TestAKillCostsFewEvents prints how many events a kill
// costs, with flags for other rates and intervals.
package faults

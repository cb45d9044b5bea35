// Package outbox commits events with the transaction of an application, and delivers them afterwards.
//
//	box, err := outbox.Open(footfall.ConfigFromEnv(), outbox.Config{DB: db, Dialect: outbox.PostgreSQL})
//	…
//	tx, err := db.BeginTx(ctx, nil)
//	…                                          // the order
//	err = box.Track(ctx, tx, "order_paid", footfall.P("amount", 4999))
//	err = tx.Commit()
//	box.Wake()
//
// [Box.Track] writes one row into a table of the application's database. If the transaction commits, the event
// is delivered, even if the process is killed right after; if it rolls back, there is no event. The schema is
// in the folder schema, for the application's own tool, and [Schema] returns it. [Check] compares it with the
// database.
//
// Any number of processes deliver. A Box claims rows for the time of a lease, in a short transaction that
// commits before the request, and sends them with the default transport of package footfall, which retries.
// A delivered row is deleted. The clock of the database decides about leases. If a process is stopped for
// longer than its lease, two processes send its events, with the same Idempotency-Key, and the service counts
// them once. No order is promised.
//
// An event that the API rejects moves to a second table, and so does a row that is no event.
// [OpenRejections] lists, retries and purges them.
package outbox

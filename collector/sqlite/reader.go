package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/footfall-dev/footfall/collector/store"
)

// readers is how many reports are computed concurrently.
const readers = 4

// maxPropBytes bounds the tables of props in a report, in bytes. Counting a day takes up to
// another 100 MB or so, for one day at a time.
const maxPropBytes = 256 << 20

// reader computes reports from snapshots of the file.
type reader struct {
	file     *file
	db       *sql.DB
	texts    texts
	damaged  func(of siteDay, segments ...int64)  // called with what a report finds damaged
	noted    func(ctx context.Context, id string) // notes that damage was reported
	decoding chan struct{}                        // has room for the goroutines that decode
	counting turn                                 // held while counting the props of a day
	views    views                                // reports in progress

	now  func() time.Time
	pack func(context.Context, siteDay) // makes the segments of a day
	many int                            // events without a segment, for which a report calls pack

	maxPropBytes int // bytes of the tables of a report
	exportPage   int // events that an export reads at a time
}

func newReader(f *file, damaged func(siteDay, ...int64)) (*reader, error) {
	db, err := sql.Open("sqlite", dsn(f.path)+"&mode=ro&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return &reader{
		file: f, db: db, damaged: damaged, decoding: make(chan struct{}, runtime.GOMAXPROCS(0)),
		counting: make(turn, 1), maxPropBytes: maxPropBytes, exportPage: exportPage,
	}, nil
}

// close waits for the reports in progress, whose context has ended: a report may still use its
// connection after database/sql has rolled its transaction back and has taken the connection.
func (rd *reader) close() error {
	rd.views.wait()
	rd.waitForConnections()
	return rd.db.Close()
}

// waitForConnections waits until no snapshot has a connection. If the context of a transaction ends,
// database/sql rolls it back in another goroutine, which may be after view has returned.
func (rd *reader) waitForConnections() {
	for range readers {
		if conn, err := rd.db.Conn(background); err == nil {
			defer func() { _ = conn.Close() }()
		}
	}
}

// views counts reports. Unlike a sync.WaitGroup, it allows a report to begin during a wait.
type views struct {
	mu    sync.Mutex
	ended sync.Cond
	n     int
}

func (v *views) add(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n += n
	v.ended.Signal()
}

// wait waits until there is no report.
func (v *views) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended.L = &v.mu
	for v.n > 0 {
		v.ended.Wait()
	}
}

// reading is a snapshot of the file, used by one report.
type reading struct {
	reader *reader
	ctx    context.Context
	tx     *sql.Tx
	q      store.Query
	site   uint32

	from, to int64 // of q, in milliseconds

	generation func() (int64, error) // of the IDs of texts
}

// read calls f with a snapshot of the file, unless it cannot contain events of q.
func (rd *reader) read(ctx context.Context, q store.Query, f func(*reading) error) error {
	from, to := millis(q.From), millis(q.To)
	if from >= to {
		return rd.file.enter(ctx)
	}
	err := rd.look(ctx, func(r *reading) (err error) {
		var found bool
		r.q, r.from, r.to = q, from, to
		if r.site, found, err = r.idOf(q.Site); err != nil || !found {
			return err
		}
		return r.unlessReported(f(r))
	})
	if isUnreported(err) {
		rd.noted(ctx, q.Site+"/")
	}
	return err
}

// look is like view for a caller of the store.
func (rd *reader) look(ctx context.Context, f func(*reading) error) error {
	if err := rd.file.enter(ctx); err != nil {
		return err
	}
	return rd.file.failed(ctx, rd.view(ctx, f))
}

// view calls f with a snapshot of the file. Close ends its context.
func (rd *reader) view(ctx context.Context, f func(*reading) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(rd.file.closing, cancel)()
	rd.views.add(1)
	defer rd.views.add(-1)
	tx, err := rd.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to commit
	return f(newReading(ctx, rd, tx))
}

func newReading(ctx context.Context, rd *reader, tx *sql.Tx) *reading {
	r := &reading{reader: rd, ctx: ctx, tx: tx}
	r.generation = sync.OnceValues(func() (generation int64, err error) {
		err = tx.QueryRowContext(ctx, "SELECT value FROM counter WHERE name = 'generation'").Scan(&generation)
		return generation, err
	})
	return r
}

// viewOf is like view for a span of a site.
func (rd *reader) viewOf(ctx context.Context, site uint32, from, to int64, f func(*reading) error) error {
	return rd.view(ctx, func(r *reading) error {
		r.site, r.from, r.to = site, from, to
		return f(r)
	})
}

// eachRow scans each row of a query and then calls f.
func eachRow(ctx context.Context, tx *sql.Tx, query string, into []any, f func(), args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

// millis returns t in milliseconds, rounded up.
func millis(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	return ms
}

// timeOf returns the time of milliseconds since 1970.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// turn is a lock whose wait a context can end.
type turn chan struct{}

// wait acquires the turn. Call done to release it.
func (t turn) wait(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) done() { <-t }

// textsOf returns the texts of ids, by ID.
func (r *reading) textsOf(ids []uint32) (map[uint32]string, error) {
	of := make(map[uint32]string, len(ids))
	for _, id := range ids {
		of[id] = ""
	}
	generation, err := r.generation()
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(r.reader.texts.known(generation, of), 500) {
		if err := r.lookTexts(generation, some, of); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func (r *reading) lookTexts(generation int64, ids []uint32, of map[uint32]string) error {
	wanted, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	var id uint32
	var text string
	return eachRow(r.ctx, r.tx, "SELECT id, value FROM text WHERE id IN (SELECT value FROM json_each(?))", []any{&id, &text}, func() {
		of[id] = text
		r.reader.texts.remember(generation, id, text)
	}, string(wanted))
}

// find scans the first row of a query.
func (r *reading) find(into any, query string, args ...any) (found bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, query, args...).Scan(into)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// idOf returns the ID of a text, or false if it has none.
func (r *reading) idOf(text string) (id uint32, found bool, err error) {
	found, err = r.find(&id, findText, text)
	return id, found, err
}

// sites returns the sites with events, with one look-up each.
func (r *reading) sites() (all []uint32, err error) {
	var site uint32
	err = eachRow(r.ctx, r.tx, `WITH RECURSIVE site (id) AS (SELECT min(site) FROM event
		UNION ALL SELECT (SELECT min(site) FROM event WHERE site > id) FROM site WHERE id IS NOT NULL)
		SELECT id FROM site WHERE id IS NOT NULL`, []any{&site}, func() { all = append(all, site) })
	return all, err
}

func (rd *reader) sites(ctx context.Context) (names []string, err error) {
	err = rd.look(ctx, func(r *reading) error {
		ids, err := r.readableSites()
		if err != nil {
			return err
		}
		texts, err := r.textsOf(ids)
		names = slices.Sorted(maps.Values(texts))
		return err
	})
	return names, err
}

// timeOfEvent returns the time of the nth event of a span, counted from 1.
func (r *reading) timeOfEvent(from, to int64, n int) (at int64, found bool, err error) {
	found, err = r.find(&at, "SELECT at FROM event WHERE site = ? AND at >= ? AND at < ? ORDER BY at LIMIT 1 OFFSET ?", r.site, from, to, n-1)
	return at, found, err
}

// nameID is like idOf for the name of an event. Pageviews have no name and ID 0.
func (r *reading) nameID(name string) (id uint32, found bool, err error) {
	if name == "" {
		return 0, true, nil
	}
	return r.idOf(name)
}

func (rd *reader) records(ctx context.Context, kind string) (all []store.Record, err error) {
	err = rd.look(ctx, func(r *reading) (err error) {
		all, err = recordsOf(r.ctx, r.tx, kind)
		return err
	})
	return all, err
}

func recordsOf(ctx context.Context, tx *sql.Tx, kind string) (all []store.Record, err error) {
	var r store.Record
	err = eachRow(ctx, tx, "SELECT id, data FROM record WHERE kind = ? ORDER BY id", []any{&r.ID, &r.Data}, func() {
		all = append(all, r)
	}, kind)
	return all, err
}

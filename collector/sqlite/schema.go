package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// applicationID marks the files of a collector ("Foot").
const applicationID = 0x466f6f74

// migrations lead from each version of the file to the next. The user_version of a file is
// the number of migrations applied. Released migrations never change.
//
// Foreign keys are enabled, but events do not use them: only the writer creates texts, before
// their events, and it never removes a text in use. Checks would cost eight look-ups for each
// event and a scan of all events for each removed text.
var migrations = []string{
	// ID 0 is the empty text, which has no row.
	`CREATE TABLE text (
		id    INTEGER PRIMARY KEY AUTOINCREMENT,
		value TEXT NOT NULL UNIQUE
	);
	CREATE TABLE event (
		site     INTEGER NOT NULL, -- a text, like name to origin
		at       INTEGER NOT NULL, -- milliseconds since 1970
		seq      INTEGER NOT NULL, -- rises in the order of adding
		visitor  INTEGER NOT NULL,
		name     INTEGER NOT NULL,
		path     INTEGER NOT NULL,
		referrer INTEGER NOT NULL,
		source   INTEGER NOT NULL,
		medium   INTEGER NOT NULL,
		campaign INTEGER NOT NULL,
		origin   INTEGER NOT NULL, -- the URL is origin, path and rest, or rest alone
		rest     TEXT NOT NULL,
		props    BLOB,
		PRIMARY KEY (site, at, seq)
	) WITHOUT ROWID;
	CREATE TABLE key (
		site INTEGER NOT NULL,
		key  TEXT NOT NULL,
		at   INTEGER NOT NULL, -- when it was added
		PRIMARY KEY (site, key)
	) WITHOUT ROWID;
	CREATE INDEX key_at ON key (at);
	CREATE TABLE rollup (
		site INTEGER NOT NULL,
		day  INTEGER NOT NULL, -- days since 1970
		part INTEGER NOT NULL,
		data BLOB NOT NULL,
		PRIMARY KEY (site, day, part)
	);
	CREATE TABLE record (
		kind TEXT NOT NULL,
		id   TEXT NOT NULL,
		data BLOB NOT NULL,
		PRIMARY KEY (kind, id)
	) WITHOUT ROWID;
	CREATE TABLE counter (
		name  TEXT PRIMARY KEY,
		value INTEGER NOT NULL
	) WITHOUT ROWID;
	INSERT INTO counter VALUES ('seq', 1);`,

	// Rollups are computed anew in the background: from here on columns are stored in segments,
	// which are in the tables piece and packed, and tables are sorted by text.
	`DROP TABLE rollup;
	` + makeParts,

	// See identity.go.
	`CREATE TABLE identity (id TEXT NOT NULL);
	INSERT INTO identity VALUES (hex(randomblob(16)));`,

	// From here on each part of a rollup or segment ends with a checksum: see convert.go.
	"",

	// Events of browsers have the browser and the kind of device: see convert.go.
	`ALTER TABLE event ADD COLUMN browser INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE event ADD COLUMN device INTEGER NOT NULL DEFAULT 0;`,

	// Tables of props say how many values are numbers: see convert.go.
	"",

	// See sweep.go. Earlier versions may have left texts that no event uses, so they are searched for.
	`CREATE TABLE unswept (
		id    INTEGER PRIMARY KEY, -- a text; without a row, an event uses it
		round INTEGER NOT NULL     -- of the sweep that decides whether it is removed
	);
	CREATE TABLE sweep ( -- one row
		searched INTEGER NOT NULL, -- 0 until all texts that no event uses are in unswept
		round    INTEGER NOT NULL, -- the last one that began
		begun    INTEGER NOT NULL, -- 1 until it has ended
		site     INTEGER NOT NULL, -- the event up to which it has read
		at       INTEGER NOT NULL,
		seq      INTEGER NOT NULL
	);
	INSERT INTO sweep SELECT NOT EXISTS (SELECT 1 FROM text), 0, 0, 0, 0, 0;`,

	// See ids.go. From here on AUTOINCREMENT of the table text has no effect.
	`CREATE TABLE block (
		id   INTEGER PRIMARY KEY, -- number of a block of IDs that was in use
		free INTEGER NOT NULL     -- how many of its IDs were freed since then
	);
	INSERT INTO block
		WITH RECURSIVE used (id) AS (SELECT min(id) >> 16 FROM text
			UNION ALL SELECT (SELECT min(id) >> 16 FROM text WHERE id >= (used.id + 1) << 16) FROM used WHERE id IS NOT NULL)
		SELECT id, 0 FROM used WHERE id IS NOT NULL;
	INSERT INTO counter VALUES ('generation', 0);
	INSERT INTO counter SELECT 'block', min(coalesce(max(id), 0) >> 16, 0xEFFF) FROM text;`,
}

const makeParts = `CREATE TABLE rollup (
		site INTEGER NOT NULL,
		day  INTEGER NOT NULL, -- days since 1970
		part INTEGER NOT NULL,
		data BLOB NOT NULL,
		PRIMARY KEY (site, day, part)
	);
	CREATE TABLE piece (
		id    INTEGER PRIMARY KEY,
		site  INTEGER NOT NULL,
		first INTEGER NOT NULL, -- milliseconds since 1970
		until INTEGER NOT NULL, -- on the same day, not itself in it
		UNIQUE (site, first)
	);
	CREATE TABLE packed (
		piece INTEGER NOT NULL REFERENCES piece ON DELETE CASCADE,
		part  INTEGER NOT NULL,
		data  BLOB NOT NULL,
		PRIMARY KEY (piece, part)
	);`

// The first versions with some tables.
const (
	versionWithIdentity = 3
	versionWithSweep    = 7
)

// Errors of files that are not opened.
var (
	errForeign = errors.New("not a database of the service")
	errNewer   = errors.New("written by a newer version of the service: install that version or restore a backup")
)

// migrate migrates the file to the newest version and repairs IDs that are too large. It refuses files of other programs.
func migrate(ctx context.Context, cfg *Config, db *sql.DB) error {
	db.SetMaxOpenConns(1)
	version, err := inspect(ctx, db)
	if err != nil {
		return err
	}
	if err := checkSpace(ctx, cfg.File, db, version); err != nil {
		return err
	}
	if version == 0 {
		if err := requireEntries(ctx, db); err != nil {
			return err
		}
	}
	// Not earlier: it would change a foreign file.
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	for from := version; version < len(migrations); version++ {
		if from > 0 && cfg.OnUpgrade != nil {
			cfg.OnUpgrade(version-from, len(migrations)-from)
		}
		if err := step(ctx, db, version); ctx.Err() != nil {
			return fmt.Errorf("the upgrade was interrupted: the file has version %d of %d, and the next start continues: %w", version, len(migrations), ctx.Err())
		} else if err != nil {
			return fmt.Errorf("the upgrade to version %d failed, and the file has version %d as before: %w", version+1, version, err)
		}
	}
	return renumber(ctx, db)
}

// inspect returns the version of a collector's file, or 0 for an empty file.
func inspect(ctx context.Context, db *sql.DB) (version int, err error) {
	var application, tables int
	err = db.QueryRowContext(ctx, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version").
		Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case application == 0 && version == 0 && tables == 0:
		return 0, nil
	case application != applicationID || version < 0:
		return 0, errForeign
	case version > len(migrations):
		return 0, fmt.Errorf("%w (the file has version %d, this program supports %d)", errNewer, version, len(migrations))
	}
	return version, nil
}

// step runs a migration and updates the version in the same transaction.
func step(ctx context.Context, db *sql.DB, version int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after Commit
	mark := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, version+1)
	for _, statements := range []string{migrations[version], mark} {
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return err
		}
	}
	if convert, ok := conversions[version]; ok {
		if err := convert(&converter{ctx, tx}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// textColumns are the columns of an event that hold IDs of texts, except its site and the origin
// of its URL.
var textColumns = store.TextFields()

// textColumnNames are the names of textColumns, separated by commas.
var textColumnNames = func() string {
	var names []string
	for _, f := range textColumns {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}()

// eventTexts are all columns of an event that hold IDs of texts.
var eventTexts = "site, origin, " + textColumnNames

// textDestinations returns to as the destination of each of eventTexts.
func textDestinations(to sql.Scanner) []any {
	all := []any{to, to} // site and origin
	for range textColumns {
		all = append(all, to)
	}
	return all
}

// insertEvent inserts an event. Its parameters are those columns and then all textColumns.
var insertEvent = "INSERT INTO event (site, at, seq, visitor, origin, rest, props, " + textColumnNames +
	") VALUES (?, ?, ?, ?, ?, ?, ?" + strings.Repeat(", ?", len(textColumns)) + ")"

// fixedParameters is the number of parameters of insertEvent before textColumns.
const fixedParameters = 7

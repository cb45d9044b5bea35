package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
)

// checkSpace refuses migrations for which the disk has no space. They write what they change to the log,
// and then to the file.
func checkSpace(ctx context.Context, file string, db *sql.DB, version int) error {
	free, known := freeSpace(filepath.Dir(file))
	if !known || version == 0 || version == len(migrations) {
		return nil
	}
	need := spaceFor(ctx, db, version)
	if free < need {
		return fmt.Errorf("the upgrade from version %d to %d needs %d MB of free space on the disk of the file, which has %d MB: nothing was changed",
			version, len(migrations), need>>20+1, free>>20)
	}
	return nil
}

// spaceFor returns about how many bytes the migrations from a version write, and a bit more.
func spaceFor(ctx context.Context, db *sql.DB, version int) int64 {
	var all float64
	for of := version; of < len(migrations); of++ {
		query, some := written[of]
		if _, converts := conversions[of]; converts && version == 1 {
			some = false // the first migration has removed all parts
		}
		var bytes float64
		if some && db.QueryRowContext(ctx, query).Scan(&bytes) == nil { // otherwise the migration tells what is wrong
			all += bytes
		}
	}
	return int64(all*1.25) + 2<<20
}

// written has a query for each migration that writes many bytes, by the version that it begins with: about
// how many.
var written = map[int]string{
	1: "SELECT total(length(data)) FROM rollup",
	3: "SELECT total(length(data)) + (SELECT total(length(data)) FROM packed) FROM rollup",
	4: "SELECT 2 * total(length(data)) FROM packed WHERE part = 6",
	5: "SELECT total(length(data)) FROM rollup WHERE part = 1",
	7: "SELECT 16 * (coalesce(max(id), 0) >> 16) FROM text", // a row for each block, in the log and in the file
}

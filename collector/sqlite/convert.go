package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

// Rollups and segments of earlier versions stay, in the form of the new version, until the compactor
// has made their successors. Otherwise reports would be slow after an upgrade, and the figures of a
// day whose events cannot be read any more would be lost. Only what a version cannot read is removed.

// conversions change the parts of a version, in the migration to the next one.
var conversions = map[int]func(*converter) error{
	3: (*converter).seal,
	4: (*converter).addColumns,
	5: (*converter).dropProps,
}

// converter changes parts in the transaction of a migration.
type converter struct {
	ctx context.Context
	tx  *sql.Tx
}

// each calls change with each row of keys, which are two numbers. It goes on after damage, without the
// changes of that call: readers find such parts by their checksums.
func (c *converter) each(keys string, change func(a, b int64) error) error {
	var all [][2]int64
	var key [2]int64
	if err := eachRow(c.ctx, c.tx, keys, []any{&key[0], &key[1]}, func() { all = append(all, key) }); err != nil {
		return err
	}
	for _, key := range all {
		if err := c.exec("SAVEPOINT part"); err != nil {
			return err
		}
		if err := change(key[0], key[1]); isDamage(err) {
			if err := c.exec("ROLLBACK TO part"); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		if err := c.exec("RELEASE part"); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) exec(statement string, args ...any) error {
	_, err := c.tx.ExecContext(c.ctx, statement, args...)
	return err
}

// parts reads parts as they are stored.
func (c *converter) parts(query string, args ...any) (colstore.Parts, error) {
	var part int
	var data []byte
	parts := make(colstore.Parts)
	err := eachRow(c.ctx, c.tx, query, []any{&part, &data}, func() { parts[part], data = data, nil }, args...)
	return parts, err
}

// seal adds checksums to parts. Reports notice a segment that cannot be decoded, so it may have one.
func (c *converter) seal() error {
	err := c.each("SELECT DISTINCT site, day FROM rollup", func(site, day int64) error {
		parts, err := c.parts("SELECT part, data FROM rollup WHERE site = ? AND day = ?", site, day)
		if err != nil {
			return err
		}
		delete(parts, colstore.PartProps) // has another form since version 6
		if _, _, err := colstore.CheckRollup(parts); err != nil {
			return err
		}
		for part, data := range parts {
			if err := c.exec("UPDATE rollup SET data = ? WHERE site = ? AND day = ? AND part = ?", colstore.Seal(part, data), site, day, part); err != nil {
				return err
			}
		}
		return c.exec("DELETE FROM rollup WHERE site = ? AND day = ? AND part = ?", site, day, colstore.PartProps)
	})
	if err != nil {
		return err
	}
	return c.each("SELECT piece, part FROM packed", func(id, part int64) error {
		parts, err := c.parts("SELECT part, data FROM packed WHERE piece = ? AND part = ?", id, part)
		if err != nil {
			return err
		}
		return c.exec("UPDATE packed SET data = ? WHERE piece = ? AND part = ?", colstore.Seal(int(part), parts[int(part)]), id, part)
	})
}

// addColumns adds the tables and columns of browsers and devices, which events of earlier versions do
// not have.
func (c *converter) addColumns() error {
	for _, by := range []store.Dimension{store.Browsers, store.Devices} {
		part, _ := colstore.TopPart(by)
		table, err := colstore.NewTopTable(by).Encode(func([]uint32) (map[uint32]string, error) { return nil, nil })
		if err != nil {
			return err
		}
		if err := c.exec("INSERT OR IGNORE INTO rollup SELECT DISTINCT site, day, ?1, ?2 FROM rollup", part, colstore.Seal(part, table)); err != nil {
			return err
		}
	}
	return c.each("SELECT id, first FROM piece", func(id, _ int64) error {
		at := int(colstore.At)
		parts, err := c.parts("SELECT part, data FROM packed WHERE piece = ? AND part = ?", id, at)
		if err != nil {
			return err
		}
		times, err := colstore.Unseal(at, parts[at])
		if err != nil {
			return err
		}
		empty, err := colstore.EmptyTexts(times)
		for _, column := range []colstore.Column{colstore.Browser, colstore.Device} {
			if part := int(column); err == nil {
				err = c.exec("INSERT OR IGNORE INTO packed VALUES (?, ?, ?)", id, part, colstore.Seal(part, empty))
			}
		}
		return err
	})
}

// dropProps removes the tables of props, which do not say how many values are numbers. What cannot be
// read stays.
func (c *converter) dropProps() error {
	return c.each(fmt.Sprint("SELECT site, day FROM rollup WHERE part = ", colstore.PartProps), func(site, day int64) error {
		const where = " FROM rollup WHERE site = ? AND day = ? AND part = ?"
		if _, err := c.parts("SELECT part, data"+where, site, day, colstore.PartProps); err != nil {
			return err
		}
		if err := c.exec("DELETE"+where, site, day, colstore.PartProps); err != nil {
			return fmt.Errorf("removing the props of a day: %s", err) // not as damage: what stays would be read
		}
		return nil
	})
}

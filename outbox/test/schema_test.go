package test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
	"github.com/footfall-dev/footfall/footfalltest"
	"github.com/footfall-dev/footfall/outbox"
)

func TestCheckSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		err := outbox.Check(t.Context(), d.DB, d.config())
		assert.ErrorContains(t, err, "table footfall_outbox: there is no such table")
		assert.ErrorContains(t, err, "table footfall_outbox_rejected: there is no such table")
		d.migrate(t)
		require.NoError(t, outbox.Check(t.Context(), d.DB, d.config()))
		d.exec(t, "ALTER TABLE footfall_outbox DROP COLUMN claims")
		d.exec(t, "ALTER TABLE footfall_outbox ADD COLUMN tenant VARCHAR(10) NOT NULL DEFAULT 'a'")
		d.exec(t, "ALTER TABLE footfall_outbox_rejected DROP COLUMN code")
		drop := "DROP INDEX footfall_outbox_due"
		if d.dialect == outbox.MySQL {
			drop += " ON footfall_outbox"
		}
		d.exec(t, drop)
		err = outbox.Check(t.Context(), d.DB, d.config())
		var schema *outbox.SchemaError
		require.ErrorAs(t, err, &schema)
		assert.Equal(t, "footfall_outbox", schema.Table)
		require.Len(t, schema.Differences, 2, "a column with a default does no harm: %v", err)
		assert.Contains(t, schema.Differences[0], "no column claims int")
		assert.Equal(t, "no index of (leased_until, id)", schema.Differences[1])
		assert.ErrorContains(t, err, "table footfall_outbox_rejected: no column code text: apply the files of outbox/schema")
	})
}

func TestCheckFindsOtherTypesAndColumns(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		schema, err := outbox.Schema(d.dialect, "", "")
		require.NoError(t, err)
		for _, body := range []string{"bytea ", "MEDIUMBLOB ", "BLOB "} {
			schema = strings.ReplaceAll(schema, " "+body, " VARCHAR(500) ")
		}
		schema = strings.Replace(schema, "CREATE TABLE footfall_outbox (", "CREATE TABLE footfall_outbox (\n    tenant INTEGER NOT NULL,", 1)
		d.exec(t, schema)
		err = outbox.Check(t.Context(), d.DB, d.config())
		assert.ErrorContains(t, err, "column body is ")
		assert.ErrorContains(t, err, "column tenant, which the outbox does not know, has neither NULL nor a default")
	})
}

// An outbox whose table is of another version writes nothing, and says so.
func TestTrackOnATableOfAnOlderSchemaIsAnError(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		d.migrate(t)
		d.exec(t, "ALTER TABLE footfall_outbox RENAME COLUMN idempotency_key TO event_key")
		b := box(t, quick(api, &log), d.config())
		assert.ErrorContains(t, b.Track(t.Context(), d.DB, "paid"), "outbox: the event was not written")
		require.Error(t, outbox.Check(t.Context(), d.DB, d.config()))
		d.exec(t, "ALTER TABLE footfall_outbox RENAME COLUMN event_key TO idempotency_key")
		d.order(t, b, "1")
		flush(t, b)
		assert.Equal(t, []string{"1"}, orders(api))
	})
}

func TestTablesMayHaveOtherNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *database) {
		api, log := footfalltest.NewAPI(t), footfalltest.Log{}
		names := [][2]string{{"order", ""}, {"events_2", "group"}}
		switch d.dialect {
		case outbox.PostgreSQL:
			d.exec(t, "CREATE SCHEMA app")
			names = append(names, [2]string{"app.order", ""}, [2]string{"app.select", "public.from"})
		case outbox.MySQL:
			names = append(names, [2]string{"mysql." + newName(), ""})
		}
		for i, name := range names {
			schema, err := outbox.Schema(d.dialect, name[0], name[1])
			require.NoError(t, err)
			d.exec(t, schema)
			cfg := d.config()
			cfg.Table, cfg.RejectedTable = name[0], name[1]
			require.NoError(t, outbox.Check(t.Context(), d.DB, cfg), "%s", name)
			b := box(t, quick(api, &log), cfg)
			api.Next(footfalltest.Status(422))
			require.NoError(t, b.Track(t.Context(), d.DB, "rejected"))
			flush(t, b)
			require.NoError(t, b.Track(t.Context(), d.DB, "order_paid"))
			flush(t, b)
			assert.Len(t, api.Events(), i+1)
			lag, err := b.Lag(t.Context())
			require.NoError(t, err)
			assert.Equal(t, outbox.Lag{Rejected: 1}, lag)
			r, err := outbox.OpenRejections(cfg)
			require.NoError(t, err)
			n, err := r.Purge(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, n)
		}
	})
}

func TestNamesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Orders", "a b", `a"b`, "a`b", "a;b", "1a", "a.b.c", ".a", "a.", "ä", strings.Repeat("a", 60)} {
		for _, dialect := range []outbox.Dialect{outbox.PostgreSQL, outbox.MySQL, outbox.SQLite} {
			_, err := outbox.Schema(dialect, name, "")
			require.ErrorContains(t, err, "outbox.Config.Table: ", "%s %s", dialect, name)
			_, err = outbox.Schema(dialect, "", name)
			require.ErrorContains(t, err, "outbox.Config.RejectedTable: ", "%s %s", dialect, name)
		}
	}
	_, err := outbox.Schema(outbox.SQLite, "a.b", "")
	require.ErrorContains(t, err, "SQLite")
	_, err = outbox.Schema(outbox.PostgreSQL, "a", "a")
	require.ErrorContains(t, err, "the same as Table")
	_, err = outbox.Schema(0, "", "")
	require.ErrorContains(t, err, "outbox.Config.Dialect")
	require.Error(t, outbox.Check(t.Context(), nil, outbox.Config{Dialect: outbox.SQLite}))
}

// A user without rights is told so by Check, and by Track.
func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		open   func(testing.TB) *database
		grants []string
		dsn    func(dsn, user string) string
	}{
		{"PostgreSQL", openPGX, []string{"CREATE USER %[1]s", "GRANT SELECT, INSERT, UPDATE ON footfall_outbox TO %[1]s", "GRANT SELECT, INSERT, UPDATE, DELETE ON footfall_outbox_rejected TO %[1]s"},
			func(dsn, user string) string { return strings.Replace(dsn, "shop@", user+"@", 1) }},
		{"MariaDB", openMySQL, []string{"CREATE USER %[1]s@'127.0.0.1'", "GRANT SELECT, INSERT, UPDATE ON footfall_outbox TO %[1]s@'127.0.0.1'", "GRANT SELECT, INSERT, UPDATE, DELETE ON footfall_outbox_rejected TO %[1]s@'127.0.0.1'"},
			func(dsn, user string) string { return strings.Replace(dsn, "root@", user+"@", 1) }},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			d := one.open(t)
			api, log := footfalltest.NewAPI(t), footfalltest.Log{}
			d.migrate(t)
			user := newName()
			for _, grant := range one.grants {
				d.exec(t, fmt.Sprintf(grant, user))
			}
			db, err := sql.Open(d.driver, one.dsn(d.dsn, user))
			require.NoError(t, err)
			defer db.Close()
			err = outbox.Check(t.Context(), db, d.config())
			require.ErrorContains(t, err, "outbox: the tables cannot be used")
			assert.Regexp(t, "(?i)(permission denied|DELETE command denied)", err.Error())
			cfg := d.config()
			cfg.DB = db
			b := box(t, quick(api, &log), cfg)
			require.NoError(t, b.Track(t.Context(), db, "order_paid", footfall.P("order", "1")))
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "table cannot be used") }, patience, 10*time.Millisecond)
			grant := strings.Replace(one.grants[1], "SELECT, INSERT, UPDATE", "DELETE", 1)
			d.exec(t, fmt.Sprintf(grant, user))
			d.empty(t)
			assert.Equal(t, []string{"1"}, orders(api))
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "can be used again") }, patience, 10*time.Millisecond)
			require.NoError(t, outbox.Check(t.Context(), db, cfg))
		})
	}
}

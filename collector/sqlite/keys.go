package sqlite

import (
	"database/sql"
	"time"
)

// keyQuery changes a row if the key is new or has expired.
const keyQuery = `INSERT INTO key (site, key, at) VALUES (?1, ?2, ?3)
	ON CONFLICT DO UPDATE SET at = excluded.at WHERE at <= excluded.at - ?4`

const (
	keysKeptExtra = 10 * time.Minute // between two cleanings

	// A cleaning removes at most keysAtOnce keys, or twice as many as the transaction may add,
	// because events wait for it: each key may be on another page. If there are more, the next
	// one follows after keysPause. After the window was shortened there may be millions.
	keysAtOnce = 200
	keysPause  = 20 * time.Millisecond
)

const cleanQuery = "DELETE FROM key WHERE (site, key) IN (SELECT site, key FROM key WHERE at <= ? LIMIT ?)"

// keys are the Idempotency-Keys in the file.
type keys struct {
	conn    *sql.Conn
	insert  *sql.Stmt
	now     func() time.Time
	window  time.Duration // how long keys are remembered
	adding  int           // the most that the transaction adds
	cleaned time.Time
}

// duplicate reports whether the key was added before, and stores it otherwise.
func (k *keys) duplicate(site int64, key string) (bool, error) {
	now := k.now()
	if now.Sub(k.cleaned) > keysKeptExtra || now.Before(k.cleaned) {
		if err := k.clean(now); err != nil {
			return false, err
		}
	}
	result, err := k.insert.ExecContext(background, site, key, now.UnixMilli(), k.window.Milliseconds())
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed == 0, err
}

// clean removes expired keys.
func (k *keys) clean(now time.Time) error {
	most := int64(max(keysAtOnce, 2*k.adding))
	result, err := k.conn.ExecContext(background, cleanQuery, now.Add(-k.window).UnixMilli(), most)
	if err != nil {
		return err
	}
	k.cleaned = now
	removed, err := result.RowsAffected()
	if removed == most {
		k.cleaned = now.Add(keysPause - keysKeptExtra)
	}
	return err
}

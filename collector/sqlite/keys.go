package sqlite

import (
	"time"
)

// keyQuery changes a row if the key is new or has expired.
const keyQuery = `INSERT INTO key (site, key, at) VALUES (?1, ?2, ?3)
	ON CONFLICT DO UPDATE SET at = excluded.at WHERE at <= excluded.at - ?4`

const (
	reservedSeqs  = 1 << 16
	keysKeptExtra = 10 * time.Minute // between two cleanings

	// A cleaning removes at most keysAtOnce keys, or twice as many as the transaction may add,
	// because events wait for it: each key may be on another page. If there are more, the next
	// one follows after keysPause. After the window was shortened there may be millions.
	keysAtOnce = 200
	keysPause  = 20 * time.Millisecond
)

const cleanQuery = "DELETE FROM key WHERE (site, key) IN (SELECT site, key FROM key WHERE at <= ? LIMIT ?)"

// duplicate reports whether the key was added before, and stores it otherwise.
func (w *writer) duplicate(site int64, key string) (bool, error) {
	now := w.now()
	if now.Sub(w.keysCleaned) > keysKeptExtra || now.Before(w.keysCleaned) {
		if err := w.cleanKeys(now); err != nil {
			return false, err
		}
	}
	result, err := w.key.ExecContext(background, site, key, now.UnixMilli(), w.window.Milliseconds())
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	return changed == 0, err
}

// cleanKeys removes expired keys.
func (w *writer) cleanKeys(now time.Time) error {
	most := int64(max(keysAtOnce, 2*len(w.batch)))
	result, err := w.conn.ExecContext(background, cleanQuery, now.Add(-w.window).UnixMilli(), most)
	if err != nil {
		return err
	}
	w.keysCleaned = now
	removed, err := result.RowsAffected()
	if removed == most {
		w.keysCleaned = now.Add(keysPause - keysKeptExtra)
	}
	return err
}

package sqlite

import (
	"strings"
	"time"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
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

// addEvent adds an event to the transaction, unless it is a duplicate.
func (w *writer) addEvent(e *store.Event) error {
	site, err := w.intern.id(e.Site)
	if err != nil {
		return err
	}
	if e.Key != "" {
		if again, err := w.duplicate(site, e.Key); again || err != nil {
			return err
		}
	}
	seq, err := w.nextSeq()
	if err != nil {
		return err
	}
	at, a := e.At.UnixMilli(), w.args
	origin, rest := splitURL(e.URL, e.Path)
	a[0], a[1], a[2], a[3], a[5], a[6] = site, at, seq, int64(e.Visitor), rest, nil
	if len(e.Props) > 0 {
		a[6] = colstore.EncodeProps(e.Props)
	}
	if a[4], err = w.intern.id(origin); err != nil {
		return err
	}
	for i := range textColumns {
		if a[fixedParameters+i], err = w.intern.id(textColumns[i].Text(e)); err != nil {
			return err
		}
	}
	if _, err := w.insert.ExecContext(background, a...); err != nil {
		return err
	}
	w.touch(uint32(site), at)
	return nil
}

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

// nextSeq reserves numbers in the file in blocks, so that none is ever used twice.
func (w *writer) nextSeq() (int64, error) {
	if w.seq == w.seqEnd {
		err := w.conn.QueryRowContext(background, "UPDATE counter SET value = value + ? WHERE name = 'seq' RETURNING value", reservedSeqs).Scan(&w.seqEnd)
		if err != nil {
			return 0, err
		}
		w.seq = w.seqEnd - reservedSeqs
	}
	w.seq++
	return w.seq - 1, nil
}

// splitURL returns the parts of a URL before and after its path. If the path does not occur
// there, origin is empty and rest is the whole URL.
func splitURL(url, path string) (origin, rest string) {
	start := strings.Index(url, "://")
	if start < 0 || path == "" {
		return "", url
	}
	slash := strings.IndexByte(url[start+3:], '/')
	if slash < 0 {
		return "", url
	}
	end := start + 3 + slash
	if after, ok := strings.CutPrefix(url[end:], path); ok {
		return url[:end], after
	}
	return "", url
}

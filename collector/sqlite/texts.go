package sqlite

import (
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"sync"
)

// Limits of the cached texts. Other texts are looked up in the file.
const (
	internedTexts = 100_000
	internedBytes = 16 << 20
)

// texts caches texts by ID for the readers. IDs are never reused, so the cache is never
// stale.
type texts struct {
	mu    sync.Mutex
	of    map[uint32]string
	bytes int
}

// known fills in the cached texts and returns the IDs of all others.
func (t *texts) known(of map[uint32]string) (missing []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range of {
		if text, ok := t.of[id]; ok {
			of[id] = text
		} else if id != 0 {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}

func (t *texts) remember(id uint32, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil || len(t.of) >= internedTexts || t.bytes+len(text) > internedBytes {
		t.of, t.bytes = make(map[uint32]string), 0
	}
	t.of[id] = text
	t.bytes += len(text)
}

// textsOf returns the texts of ids, by ID.
func (r *reading) textsOf(ids []uint32) (map[uint32]string, error) {
	of := make(map[uint32]string, len(ids))
	for _, id := range ids {
		of[id] = ""
	}
	for some := range slices.Chunk(r.s.texts.known(of), 500) {
		if err := r.lookTexts(some, of); err != nil {
			return nil, err
		}
	}
	return of, nil
}

func (r *reading) lookTexts(ids []uint32, of map[uint32]string) error {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(id), 10)
	}
	rows, err := r.tx.QueryContext(r.ctx, "SELECT id, value FROM text WHERE id IN (SELECT value FROM json_each(?))", string(append(list, ']')))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id uint32
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		of[id] = text
		r.s.texts.remember(id, text)
	}
	return rows.Err()
}

// idOf returns the ID of a text, or false if it has none.
func (r *reading) idOf(text string) (id uint32, found bool, err error) {
	err = r.tx.QueryRowContext(r.ctx, "SELECT id FROM text WHERE value = ?", text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

package sqlite

import (
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Limits of the cached texts. Other texts are looked up in the file.
const (
	internedTexts = 100_000
	internedBytes = 16 << 20
)

// texts caches texts by ID for the readers. They are of one generation of IDs, because an ID may have
// another text in another one.
type texts struct {
	mu         sync.Mutex
	generation int64
	of         map[uint32]string
	bytes      int
}

// known fills in the cached texts of a generation and returns the IDs of all others.
func (t *texts) known(generation int64, of map[uint32]string) (missing []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range of {
		text, ok := t.of[id]
		if ok && generation == t.generation {
			of[id] = text
		} else if id != 0 {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}

// remember caches a text of a generation, unless the cache has a later one.
func (t *texts) remember(generation int64, id uint32, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if generation < t.generation {
		return
	}
	if t.of == nil || generation > t.generation || len(t.of) >= internedTexts || t.bytes+len(text) > internedBytes {
		t.of, t.bytes, t.generation = make(map[uint32]string), 0, generation
	}
	t.of[id] = text
	t.bytes += len(text)
}

// Statements of interner.
const (
	findText   = "SELECT id FROM text WHERE value = ?"
	insertText = "INSERT INTO text (id, value) VALUES (?, ?)"
	keepText   = "DELETE FROM unswept WHERE id = ?"
)

// interner maps texts to their IDs. It belongs to a connection. A text that it caches is not in the
// table unswept, so no sweep removes it.
type interner struct {
	find, insert, keep *sql.Stmt
	ids                map[string]int64
	bytes              int
	noted              bool // unswept may have rows
	new                allocator
}

// reset clears the cache, because a rollback may have removed its texts from the file.
func (in *interner) reset() {
	in.ids, in.bytes = nil, 0
}

// id returns the ID of a text, which it adds if necessary. The empty text has ID 0.
func (in *interner) id(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, known := in.ids[text]
	if !known {
		var err error
		if id, err = in.look(text); err != nil {
			return 0, err
		}
		in.remember(text, id)
	}
	return id, nil
}

// existing returns the ID of a text, or false if it has none. It does not keep a text from being
// removed.
func (in *interner) existing(text string) (id int64, found bool, err error) {
	err = in.find.QueryRowContext(background, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return id, err == nil, err
}

// drop removes texts from the cache.
func (in *interner) drop(ids idSet) {
	maps.DeleteFunc(in.ids, func(text string, id int64) bool {
		_, drop := ids[id]
		if drop {
			in.bytes -= len(text)
		}
		return drop
	})
}

func (in *interner) look(text string) (id int64, err error) {
	id, found, err := in.existing(text)
	if found && in.noted {
		_, err = in.keep.ExecContext(background, id)
	}
	if found || err != nil {
		return id, err
	}
	if id, err = in.new.next(); err != nil {
		return 0, err
	}
	_, err = in.insert.ExecContext(background, id, text)
	return id, err
}

func (in *interner) remember(text string, id int64) {
	if len(in.ids) >= internedTexts || in.bytes+len(text) > internedBytes {
		in.reset()
	}
	if in.ids == nil {
		in.ids = make(map[string]int64)
	}
	in.ids[text] = id
	in.bytes += len(text)
}

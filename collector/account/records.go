package account

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/footfall-dev/footfall/collector/store"
)

// load fills m with the records of a kind. It does nothing once *err is set.
func load[T any](read func(kind string) ([]store.Record, error), kind string, m *map[string]T, err *error) {
	*m = make(map[string]T)
	if *err != nil {
		return
	}
	records, failed := read(kind)
	if failed != nil {
		*err = failed
		return
	}
	for _, r := range records {
		var v T
		if failed := json.Unmarshal(r.Data, &v); failed != nil {
			*err = fmt.Errorf("%s %q: %w", kind, r.ID, failed)
			return
		}
		(*m)[r.ID] = v
	}
}

// save writes v to the store, then to m. The caller holds the lock.
func save[T any](ctx context.Context, a *Account, kind, id string, m map[string]T, v T) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := a.store.Put(ctx, kind, store.Record{ID: id, Data: data}); err != nil {
		return err
	}
	m[id] = v
	return nil
}

// remove removes id from the store, then from m. The caller holds the lock.
func remove[T any](ctx context.Context, a *Account, kind, id string, m map[string]T) error {
	if _, ok := m[id]; !ok {
		return ErrNotFound
	}
	if err := a.store.Remove(ctx, kind, id); err != nil {
		return err
	}
	delete(m, id)
	return nil
}

// newSecret returns 26 random characters, more than 128 bits, behind a prefix.
func newSecret(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// newID returns a random ID of 60 bits, twelve characters of base 32, after a prefix.
func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

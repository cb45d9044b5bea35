package sqlite

import (
	"errors"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/footfall-dev/footfall/collector/sqlite/internal/colstore"
	"github.com/footfall-dev/footfall/collector/store"
)

var _ store.Inspector = (*Store)(nil)

// Damage implements store.Inspector. The error names the file. It stays until the store is opened
// again.
func (s *Store) Damage() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// noteBroken keeps the first error that says that the file is damaged.
func (s *Store) noteBroken(err error) {
	if isDamage(err) && s.broken.Load() == nil {
		if _, named := errors.AsType[*fileError](err); !named {
			err = &fileError{s.file, err}
		}
		s.broken.CompareAndSwap(nil, &err)
	}
}

func isDamage(err error) bool {
	if errors.Is(err, colstore.ErrDamaged) {
		return true
	}
	if of, ok := errors.AsType[*driver.Error](err); ok {
		primary := of.Code() & 0xff
		return primary == codes.SQLITE_CORRUPT || primary == codes.SQLITE_NOTADB
	}
	return false
}

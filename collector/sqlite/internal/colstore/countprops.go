package colstore

import (
	"context"
	"errors"
	"hash/maphash"

	"github.com/footfall-dev/footfall/collector/store"
)

// propLimits bound the memory of CountProps. If a day has more, it reads the events several times.
type propLimits struct {
	pairs int // pairs of a prop and a visitor
	rows  int // bytes of the rows, as counted by rowBytes
}

// defaultLimits take about 32 MB for the pairs and 64 MB for the rows.
var defaultLimits = propLimits{pairs: 4 << 20, rows: 64 << 20}

// rowBytes is about the size of a row in memory without its texts, with the room that maps and
// slices have to grow.
const rowBytes = 200

// CountProps counts the props of a day's events whose names are wanted. The batches need Visitor,
// Name and Props, and must be repeatable. It returns store.ErrTooLarge if the encoded tables have
// more than this many bytes. Other memory is bounded by the largest batch and the number of
// visitors.
func CountProps(ctx context.Context, day Batches, wanted func(name uint32) bool, most int) (PropTables, error) {
	return countProps(ctx, day, wanted, most, defaultLimits)
}

func countProps(ctx context.Context, day Batches, wanted func(name uint32) bool, most int, limits propLimits) (PropTables, error) {
	d := &dayProps{ctx: ctx, day: day, wanted: wanted, left: most, limits: limits, tables: make(PropTables)}
	err := d.count(share{seed: maphash.MakeSeed(), shares: 1})
	return d.tables, err
}

// dayProps counts the props of a day, one share of them after the other.
type dayProps struct {
	ctx    context.Context
	day    Batches
	wanted func(name uint32) bool
	left   int // bytes of tables
	limits propLimits
	tables PropTables
}

// count counts a share of the props, in halves if it does not fit into memory.
func (d *dayProps) count(s share) error {
	err := d.tryCount(s)
	if !errors.Is(err, errManyRows) {
		return err
	}
	for _, half := range s.halves() {
		if err := d.count(half); err != nil {
			return err
		}
	}
	return nil
}

// tryCount returns errManyRows if the share does not fit into memory.
func (d *dayProps) tryCount(s share) error {
	p := newPropCounter(d.wanted, s, d.limits)
	if err := p.count(d.ctx, d.day); err != nil {
		return err
	}
	for id, t := range p.tables {
		table := t.encode()
		if d.left -= len(table); d.left < 0 {
			return store.ErrTooLarge
		}
		if len(table) > 0 {
			d.tables[id] = append(d.tables[id], table)
		}
	}
	return nil
}

// errManyRows is returned for a share of the props that does not fit into memory.
var errManyRows = errors.New("colstore: too many props at once")

// share is a part of all props, by their hashes.
type share struct {
	seed          maphash.Seed
	shares, index uint64 // shares is a power of two
}

// maxShares ends the halving of props with equal hashes.
const maxShares = 1 << 32

func (s share) halves() [2]share {
	a, b := s, s
	a.shares, b.shares = 2*s.shares, 2*s.shares
	b.index += s.shares
	return [2]share{a, b}
}

func (s share) has(key, value []byte) bool {
	if s.shares == 1 {
		return true
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.Write(key)
	_ = h.WriteByte(0)
	_, _ = h.Write(value)
	return h.Sum64()&(s.shares-1) == s.index
}

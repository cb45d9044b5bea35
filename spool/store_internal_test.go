package spool

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall"
)

func TestAStoreCountsTheRecordsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events-0.db")
	s, err := openStore(path, contents{})
	require.NoError(t, err)
	defer s.close()
	small := s.size
	var c change
	for key := uint64(1); key <= 3; key++ {
		rec := footfall.Record{Body: make([]byte, 100_000)}
		c.add(appendKey(nil, key), encode(nil, key, 1, 0, &rec))
	}
	require.NoError(t, s.commit(&c))
	assert.Equal(t, 3, s.events)
	assert.Equal(t, int64(3*(headerSize+100_000)), s.bytes)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, info.Size(), s.size)
	assert.Greater(t, s.size, small)
	for range 2 { // the second time they are missing
		require.NoError(t, s.commit(&change{remove: []uint64{1, 3, 7}}))
		assert.Equal(t, 1, s.events)
		assert.Equal(t, int64(headerSize+100_000), s.bytes)
	}
}

func TestAFailedTransactionIsNotCounted(t *testing.T) {
	s, err := openStore(filepath.Join(t.TempDir(), "events-0.db"), contents{})
	require.NoError(t, err)
	defer s.close()
	c := change{clock: time.Hour}
	c.add(appendKey(nil, 1), []byte("value"))
	c.add(nil, nil) // bbolt refuses empty keys
	require.Error(t, s.commit(&c))
	assert.Zero(t, s.events)
	assert.Zero(t, s.bytes)
	assert.Zero(t, s.clock)
}

func TestTheFileOfAStoreThatPanickedIsClosed(t *testing.T) {
	s, err := openStore(filepath.Join(t.TempDir(), "events-0.db"), contents{})
	require.NoError(t, err)
	file := s.file
	require.ErrorIs(t, s.guard(func() error { panic("bbolt") }), errDamaged)
	s.close()
	_, err = file.Stat()
	assert.ErrorIs(t, err, os.ErrClosed)
}

func TestARecordWithoutRoomForItsHeaderIsDamaged(t *testing.T) {
	for size := plainSize; size < headerSize; size++ {
		v := make([]byte, size)
		binary.BigEndian.PutUint32(v, ^checksum(7, v[4:]))
		_, err := decode(appendKey(nil, 7), v)
		require.ErrorIs(t, err, errDamaged, "%d bytes", size)
	}
}

func TestAnAppendToABodyDoesNotWriteIntoTheFile(t *testing.T) {
	rec := footfall.Record{Body: []byte("{}")}
	v := append(encode(nil, 1, 1, 0, &rec), "the next"...)
	got, err := decode(appendKey(nil, 1), v[:len(v)-8])
	require.NoError(t, err)
	assert.Equal(t, len(got.rec.Body), cap(got.rec.Body))
}

func TestATinyMaxAgeDoesNotKeepTheOwnerBusy(t *testing.T) {
	o := &owner{Spool: &Spool{cfg: Config{MaxAge: 1}}}
	assert.Equal(t, 10*time.Millisecond, o.sweepEvery())
}

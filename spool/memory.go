package spool

import (
	"errors"
	"path/filepath"

	"github.com/footfall-dev/footfall"
)

// queueMemory is the memory of the tracker's queue: a file that is mapped into memory. The events
// in it survive the process, as pages of the file that the system keeps.
type queueMemory struct {
	claim *claim
	data  []byte
}

const (
	queuePrefix = "queue-"
	queueSuffix = ".mem"
)

var _ footfall.Memory = (*Spool)(nil)

var (
	errNoDirectory = errors.New("the directory cannot be used")
)

// Memory implements [footfall.Memory]. It returns a file in the directory that is mapped into
// memory, or nil if that is not possible.
func (s *Spool) Memory(n int) []byte {
	if s.feed == nil {
		return nil
	}
	s.use.mu.Lock()
	defer s.use.mu.Unlock()
	if s.use.closed || s.use.delivered || s.memory != nil {
		return nil // Deliver says why it does not run
	}
	m, err := s.folder.mapQueue(n)
	if err != nil {
		s.log.Warn("spool: the queue is not in a file: a kill loses the events that are not stored yet", "dir", s.cfg.Dir, "error", err)
		return nil
	}
	s.memory = m
	return m.data
}

// MemoryFailed implements [footfall.Memory].
func (s *Spool) MemoryFailed() {
	s.memoryFailed.Store(true)
	s.wakeOwner()
}

// noteMemory logs that the mapped file has failed.
func (o *owner) noteMemory() {
	if o.memoryFailed.Swap(false) {
		o.log.Warn("spool: the file of the queue has failed: from now on a kill loses the events that are not stored yet", "dir", o.cfg.Dir)
	}
}

// mapQueue creates a file of n bytes and maps it.
func (f *folder) mapQueue(n int) (*queueMemory, error) {
	if f.lock == nil {
		return nil, errNoDirectory
	}
	c, err := f.claimNew(queuePrefix, queueSuffix)
	if err != nil {
		return nil, err
	}
	data, err := mapFile(c.path, n)
	if err != nil {
		c.remove()
		return nil, err
	}
	return &queueMemory{c, data}, nil
}

// free removes the file. Nothing may use the memory afterwards.
func (m *queueMemory) free() {
	if m != nil {
		unmap(m.data)
		m.claim.remove()
	}
}

// queues returns the paths of the files of queues, oldest first.
func (f *folder) queues() ([]string, error) {
	return filepath.Glob(filepath.Join(f.dir, queuePrefix+"*"+queueSuffix))
}

package spool

import (
	"os"
	"time"

	"github.com/footfall-dev/footfall"
)

// recoverQueues moves the events that killed processes had in their queues to the owner's file.
// The error is about that file.
func (o *owner) recoverQueues() error {
	o.recovered = time.Now()
	paths, err := o.folder.queues()
	if err != nil {
		return nil // the directory is unreadable, or holds no queue
	}
	for _, path := range paths {
		if o.ignored[path] {
			continue
		}
		c := claimOld(path)
		if c == nil {
			continue // its process is running, such as this one
		}
		if err := o.recoverQueue(c); err != nil {
			c.release()
			return err
		}
	}
	return nil
}

// recoverQueue moves the events of one file, and removes it.
func (o *owner) recoverQueue(c *claim) error {
	memory, err := os.ReadFile(c.path)
	if err != nil {
		o.ignore(c, err)
		return nil
	}
	records, damaged := footfall.ReadMemory(memory)
	found := len(records)
	if records, err = o.store.without(records); err != nil {
		return err
	}
	if err := o.addAll(records); err != nil {
		return err
	}
	if damaged > 0 && !o.setQueueAside(c, damaged, found) {
		return nil
	}
	c.remove()
	if len(records) > 0 {
		o.log.Info("spool: stored the events that a killed process had in its queue", "events", len(records), "dir", o.cfg.Dir)
	}
	return nil
}

// addAll adds records of another process to the owner's file.
func (o *owner) addAll(records []footfall.Record) error {
	for len(records) > 0 {
		n := batchOf(records)
		if err := o.store.commit(o.additions(records[:n])); err != nil {
			return err
		}
		o.feed.adopted(n, o.store)
		records = records[n:]
	}
	return nil
}

// setQueueAside keeps a damaged file under another name. It reports whether it has done so.
func (o *owner) setQueueAside(c *claim, damaged, kept int) bool {
	aside, err := c.setAside(time.Now())
	if err != nil {
		o.ignore(c, err)
		return false
	}
	o.feed.corrupt(damaged)
	o.log.Error("spool: the queue of a process that has ended is damaged and was set aside; its readable events are kept",
		"file", c.path, "aside", aside, "kept", kept, "damaged", damaged)
	return true
}

// batchOf returns how many records one transaction adds.
func batchOf(records []footfall.Record) (n int) {
	for size := 0; n < len(records) && n < maxEvents && size < maxTransaction; n++ {
		size += sizeOf(&records[n])
	}
	return n
}

// additions returns a transaction that adds records.
func (o *owner) additions(records []footfall.Record) *change {
	var c change
	now := o.feed.clockNow()
	for i := range records {
		key := o.store.next + uint64(i)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(nil, key, 0, now, &records[i]))
	}
	return &c
}

// without returns the records that are not in the file. A process that is killed between a
// transaction and the end of it in the queue leaves its events in both.
func (s *store) without(records []footfall.Record) ([]footfall.Record, error) {
	if len(records) == 0 {
		return nil, nil
	}
	missing := make(map[footfall.EventID]footfall.Record, len(records))
	for _, r := range records {
		missing[r.ID] = r
	}
	_, err := s.read(0, func(k, v []byte) error {
		r, err := decode(k, v)
		if err == nil {
			delete(missing, r.rec.ID)
		}
		return err
	})
	var left []footfall.Record
	for _, r := range records {
		if _, ok := missing[r.ID]; ok {
			left = append(left, r)
		}
	}
	return left, err
}

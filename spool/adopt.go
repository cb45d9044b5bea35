package spool

import "time"

// scanEvery is the interval of searches of a shared directory for files of processes that have
// ended.
const scanEvery = 5 * time.Second

// adopter moves the events that other processes have left into the owner's file. Both files hold
// an event for a moment; if the move is interrupted then, the event is found twice, with the same
// id.
type adopter struct {
	spool    *Spool
	adoption *adoption
	scanned  time.Time       // last search of the directory
	orphans  []string        // files found then and not tried yet
	ignored  map[string]bool // files that could not be opened
}

// adoption moves the events of one file.
type adoption struct {
	claim  *claim
	store  *store
	events int
	ahead  time.Duration // the clock of the owner's file minus the clock of this file
}

// moveSome moves some events to the owner's file. The error is about that file.
func (a *adopter) moveSome(to *store) error {
	if a.adoption == nil && !a.findOrphan(to.path) {
		return nil
	}
	if a.adoption.store.events == 0 {
		a.removeFile()
		return nil
	}
	c, there, err := a.copyEvents(to)
	if err == nil && len(there) > 0 {
		if err := to.commit(c); err != nil {
			return err
		}
		a.spool.feed.adopted(len(there), to)
		a.spool.wakeOwner() // there may be more
		err = a.adoption.store.commit(&change{remove: there})
	}
	if err != nil {
		a.leaveFile(err)
	}
	return nil
}

// findOrphan looks for a file whose lock is free, other than the owner's. It uses the list of the
// last search first, because there may be thousands of files.
func (a *adopter) findOrphan(own string) bool {
	if len(a.orphans) == 0 && !a.listFiles() {
		return false
	}
	for len(a.orphans) > 0 {
		path := a.orphans[0]
		a.orphans = a.orphans[1:]
		if path == own || a.ignored[path] {
			continue
		}
		if c := claimOld(path); c != nil && a.openFile(c) {
			return true
		}
	}
	return false
}

// listFiles lists the files of the directory, at most once per scanEvery.
func (a *adopter) listFiles() bool {
	if !a.scanned.IsZero() && (!a.spool.cfg.Shared || time.Since(a.scanned) < scanEvery) {
		return false
	}
	paths, err := a.spool.folder.files()
	if err != nil {
		return false
	}
	a.orphans, a.scanned = paths, time.Now()
	return true
}

// openFile opens a file that another process left.
func (a *adopter) openFile(c *claim) bool {
	st, t, err := openClaimed(c, nothing(a.spool.runID), a.spool.log)
	if err != nil {
		a.ignore(c, err)
		return false
	}
	feed := a.spool.feed
	feed.corrupt(t.damaged)
	a.adoption = &adoption{claim: c, store: st, events: st.events, ahead: feed.clockNow() - t.clock}
	return true
}

// ignore logs a file that cannot be opened, and leaves it out of later searches.
func (a *adopter) ignore(c *claim, err error) {
	if !a.ignored[c.path] {
		a.spool.log.Error("spool: a file that another process left cannot be opened; it is left as it is", "file", c.path, "error", err)
	}
	a.ignored[c.path] = true
	c.release()
}

// copyEvents returns a transaction that copies events, and their keys in the other file.
func (a *adopter) copyEvents(to *store) (c *change, there []uint64, err error) {
	var blocks arena
	c = new(change)
	size := int64(0)
	_, err = a.adoption.store.read(0, func(k, v []byte) error {
		r, err := decode(k, v)
		if err != nil {
			return err
		}
		if size += int64(sizeOf(&r.rec)); !a.fits(to, size, len(there)) {
			return errEnough
		}
		key := to.next + uint64(len(there))
		there = append(there, r.key)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(blocks.room(sizeOf(&r.rec)), key, r.run, r.stored+a.adoption.ahead, &r.rec))
		return nil
	})
	return c, there, err
}

// fits reports whether another event may be moved in this transaction, which would then move
// size bytes. n is the number of events before it. An empty file accepts an event of any size,
// because other events wait behind it.
func (a *adopter) fits(to *store, size int64, n int) bool {
	if n == 0 && to.events == 0 {
		return true
	}
	return to.bytes+size <= a.spool.cfg.MaxBytes && n < maxEvents && (n == 0 || size <= maxTransaction)
}

// removeFile removes a file that is empty now.
func (a *adopter) removeFile() {
	ended := a.adoption
	a.adoption = nil
	ended.store.close()
	ended.claim.remove()
	if ended.events > 0 {
		a.spool.log.Info("spool: took over the events of a process that has ended", "events", ended.events, "file", ended.claim.path)
	}
	a.spool.wakeOwner() // there may be another
}

func (a *adopter) leaveFile(err error) {
	dropped := a.adoption
	a.adoption = nil
	dropped.store.close()
	a.ignore(dropped.claim, err)
	a.spool.wakeOwner()
}

// stopAdopting leaves the remaining events in their file.
func (a *adopter) stopAdopting() {
	if left := a.adoption; left != nil {
		a.adoption = nil
		left.store.close()
		left.claim.release()
	}
}

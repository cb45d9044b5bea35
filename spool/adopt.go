package spool

import "time"

// scanEvery is the interval of searches of a shared directory for files of processes that have
// ended.
const scanEvery = 5 * time.Second

// adoption moves the events of a file that another process left into the owner's file.
type adoption struct {
	claim  *claim
	store  *store
	events int
	ahead  time.Duration // the clock of the owner's file minus the clock of this file
}

// adopt moves some of the events that other processes have left. Both files hold an event for a
// moment; if the move is interrupted then, the event is found twice, with the same id.
func (o *owner) adopt() {
	if o.store == nil || o.closing {
		return
	}
	if o.adoption == nil && !o.findOrphan() {
		return
	}
	if o.adoption.store.events == 0 {
		o.adopted()
		return
	}
	o.moveSome()
}

// scans reports whether the directory is searched regularly.
func (o *owner) scans() bool {
	return o.cfg.Shared && o.store != nil && o.adoption == nil && !o.closing
}

// findOrphan looks for a file whose lock is free. It uses the list of the last search first,
// because there may be thousands of files.
func (o *owner) findOrphan() bool {
	if len(o.orphans) == 0 && !o.search() {
		return false
	}
	for len(o.orphans) > 0 {
		path := o.orphans[0]
		o.orphans = o.orphans[1:]
		if path == o.claim.path || o.shunned[path] {
			continue
		}
		c := claimOld(path)
		if c == nil {
			continue
		}
		st, t, err := o.openClaimed(c, nothing(o.runID))
		if err != nil {
			o.shun(c, err)
			continue
		}
		o.feed.corrupt(t.damaged)
		o.adoption = &adoption{claim: c, store: st, events: st.events, ahead: o.feed.clockNow() - t.clock}
		return true
	}
	return false
}

// search lists the files of the directory, at most once per scanEvery.
func (o *owner) search() bool {
	if !o.scanned.IsZero() && (!o.cfg.Shared || time.Since(o.scanned) < scanEvery) {
		return false
	}
	paths, err := o.folder.files()
	if err != nil {
		return false
	}
	o.orphans, o.scanned = paths, time.Now()
	return true
}

// shun ignores a file that cannot be opened.
func (o *owner) shun(c *claim, err error) {
	if !o.shunned[c.path] {
		o.log.Error("spool: a file that another process left cannot be opened; it is left as it is", "file", c.path, "error", err)
	}
	o.shunned[c.path] = true
	c.release()
}

// moveSome copies events in one transaction and removes them from the other file.
func (o *owner) moveSome() {
	c := &o.change
	c.keys, c.values, c.remove = nil, nil, nil
	var there []uint64
	size := int64(0)
	_, err := o.adoption.store.read(0, func(k, v []byte) error {
		r, err := decode(k, v)
		if err != nil {
			return err
		}
		if size += int64(headerSize + len(r.rec.Body)); !o.adopts(size, len(there)) {
			return errEnough
		}
		key := o.next + uint64(len(there))
		there = append(there, r.key)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(o.arena.room(headerSize+len(r.rec.Body)), key, r.run, r.stored+o.adoption.ahead, &r.rec))
		return nil
	})
	if err == nil && len(there) > 0 {
		err = o.move(there)
	}
	if err != nil {
		o.dropAdoption(err)
	}
}

// adopts reports whether another event may be moved in this transaction, which would then move
// size bytes. n is the number of events before it. An empty file accepts an event of any size,
// because other events wait behind it.
func (o *owner) adopts(size int64, n int) bool {
	if n == 0 && o.store.events == 0 {
		return true
	}
	return o.store.bytes+size <= o.cfg.MaxBytes && n < maxEvents && (n == 0 || size <= maxTransaction)
}

func (o *owner) move(there []uint64) error {
	if err := o.store.commit(&o.change); err != nil {
		o.fail(err)
		return nil
	}
	o.advance(len(there))
	o.feed.adopted(len(there), o.store)
	o.wakeOwner() // there may be more
	return o.adoption.store.commit(&change{remove: there})
}

// adopted removes a file that is empty now.
func (o *owner) adopted() {
	a := o.adoption
	o.adoption = nil
	a.store.close()
	a.claim.remove()
	if a.events > 0 {
		o.log.Info("spool: took over the events of a process that has ended", "events", a.events, "file", a.claim.path)
	}
	o.wakeOwner() // there may be another
}

func (o *owner) dropAdoption(err error) {
	a := o.adoption
	o.adoption = nil
	a.store.close()
	o.shun(a.claim, err)
	o.wakeOwner()
}

// stopAdopting leaves the remaining events in their file.
func (o *owner) stopAdopting() {
	if a := o.adoption; a != nil {
		o.adoption = nil
		a.store.close()
		a.claim.release()
	}
}

package spool

import "time"

// scanEvery is how often a shared directory is searched for files of processes that have
// ended.
const scanEvery = 5 * time.Second

// adoption is a file that somebody left, whose events are being moved into our own.
type adoption struct {
	claim  *claim
	store  *store
	events int
	ahead  time.Duration // how much more the clock of our file shows
}

// adopt moves a part of what others have left. Both files have it for a moment; what is
// interrupted then is found twice, with the same id.
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

// scans reports whether the directory is to be searched again when it is time to.
func (o *owner) scans() bool {
	return o.cfg.Shared && o.store != nil && o.adoption == nil && !o.closing
}

// findOrphan looks for a file whose lock can be had, in the list of the last search
// first: there may be thousands.
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

// search lists the files of the directory if it is time to.
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

// shun leaves a file alone that cannot be opened.
func (o *owner) shun(c *claim, err error) {
	if !o.shunned[c.path] {
		o.log.Error("spool: a file that another process left cannot be opened; it is left as it is", "file", c.path, "error", err)
	}
	o.shunned[c.path] = true
	c.release()
}

// moveSome copies one transaction's worth and removes it there.
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

// adopts reports whether another event may be moved, with which there are size bytes, after
// n events. One goes into an empty file however large it is: others wait behind it.
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

// adopted is the end of a file that is empty now.
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

// stopAdopting leaves the rest to whoever comes next.
func (o *owner) stopAdopting() {
	if a := o.adoption; a != nil {
		o.adoption = nil
		a.store.close()
		a.claim.release()
	}
}

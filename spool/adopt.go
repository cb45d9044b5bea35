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

// findOrphan looks for a file whose lock can be had.
func (o *owner) findOrphan() bool {
	if !o.scanned.IsZero() && (!o.cfg.Shared || time.Since(o.scanned) < scanEvery) {
		return false
	}
	paths, err := o.folder.files()
	if err != nil {
		return false
	}
	for _, path := range paths {
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
		o.adoption = &adoption{claim: c, store: st, events: st.events}
		return true
	}
	o.scanned = time.Now()
	return false
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
	room := min(o.cfg.MaxBytes-o.store.bytes, maxTransaction)
	_, err := o.adoption.store.read(0, func(k, v []byte) error {
		r, err := decode(k, v)
		if err != nil {
			return err
		}
		if size += int64(r.size); size > room || len(there) >= maxEvents {
			return errEnough
		}
		key := o.next + uint64(len(there))
		there = append(there, r.key)
		c.keys = append(c.keys, appendKey(nil, key))
		c.values = append(c.values, encode(o.arena.room(r.size), key, r.run, &r.rec))
		return nil
	})
	if err == nil && len(there) > 0 {
		err = o.move(there)
	}
	if err != nil {
		o.dropAdoption(err)
	}
}

func (o *owner) move(there []uint64) error {
	if err := o.store.commit(&o.change); err != nil {
		o.fail(err)
		return nil
	}
	o.feed.adopted(len(there), o.advance(len(there)))
	o.wakeOwner()
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
}

// stopAdopting leaves the rest to whoever comes next.
func (o *owner) stopAdopting() {
	if a := o.adoption; a != nil {
		o.adoption = nil
		a.store.close()
		a.claim.release()
	}
}

package spool

// makeRoom returns how many of the held events fit in the file, after it has dropped the oldest
// ones if Config allows it. The file may fail meanwhile.
func (o *owner) makeRoom() (n int) {
	if len(o.held) == 0 {
		return 0
	}
	room := o.cfg.MaxBytes - o.store.bytes + o.feed.endedBytes()
	for ; n < len(o.held); n++ {
		room -= int64(sizeOf(&o.held[n]))
		for room < 0 {
			freed, ok := o.free()
			if !ok {
				return n
			}
			room += freed
		}
	}
	return n
}

// removeSurplus removes ended records until one transaction can remove the rest. makeRoom
// counts them as free, and the next transaction must not exceed MaxBytes. The file may fail
// meanwhile.
func (o *owner) removeSurplus() {
	for o.store != nil && o.feed.endedEvents() > maxRemoved {
		ended, _ := o.feed.endings()
		var c change
		for _, p := range ended {
			c.remove = append(c.remove, p.key)
		}
		if err := o.store.commit(&c); err != nil {
			o.fail(err)
			return
		}
		o.feed.committed(o.store, len(ended))
	}
}

// free drops the oldest event. It returns false if Config.RefuseNew is set, or if all events
// are in flight.
func (o *owner) free() (freed int64, ok bool) {
	o.notices.full(o.log, &o.cfg)
	if o.cfg.RefuseNew {
		return 0, false
	}
	size, ok := o.feed.dropOldest()
	if !ok {
		o.fill()
		size, ok = o.feed.dropOldest()
	}
	return int64(size), ok
}

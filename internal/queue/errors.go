package queue

import "errors"

var (
	// ErrFull is returned by Put if the event would exceed the bounds.
	ErrFull = errors.New("footfall: queue full: the event was not accepted")

	// errScarce is returned by Put for an event that would need the last quarter of the room and that
	// Delayed blocks.
	errScarce error = full("footfall: queue full: the event was not accepted, because others of its name or site fail, and the last quarter of the queue is for events that do not")

	// ErrDropped is the error of an event that was dropped for a newer one.
	ErrDropped error = full("footfall: queue full: the oldest event was dropped")

	// ErrClosed is returned by Put after Close.
	ErrClosed = errors.New("footfall: tracker closed: the event was not accepted")

	// ErrStopped is the error of events that are lost because the transport has returned too
	// early.
	ErrStopped = errors.New("the transport has stopped")

	// errFault is the error of an event whose memory cannot be read, such as a mapped file that was
	// truncated.
	errFault = errors.New("the memory of the queue has a fault")

	// errGivenUp is the error of stored events that a transport has Moved to Lost.
	errGivenUp = errors.New("the transport has discarded stored events")
)

// full is an ErrFull with its own text.
type full string

func (e full) Error() string { return string(e) }

// Is makes errors.Is(e, ErrFull) true.
func (e full) Is(target error) bool { return target == ErrFull }

package queue

import "errors"

var (
	// ErrFull is returned by Put if the event would exceed the bounds.
	ErrFull = errors.New("footfall: queue full: the event was not accepted")

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

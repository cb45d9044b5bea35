package queue

import "errors"

var (
	// ErrFull is returned by Put if the event would exceed the bounds.
	ErrFull = errors.New("footfall: queue full: the event was not accepted")

	// ErrClosed is returned by Put after Close.
	ErrClosed = errors.New("footfall: tracker closed: the event was not accepted")

	// ErrStopped is why events are lost when a transport ended before its time.
	ErrStopped = errors.New("the transport has stopped")

	// errGivenUp is why events are lost that a transport has Moved.
	errGivenUp = errors.New("the transport has given up events that it had stored")
)

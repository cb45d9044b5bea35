package footfall

import "strconv"

// String returns the name of o in lower case, such as "delivered", and "Outcome(9)" for a
// value that is none of the four.
func (o Outcome) String() string {
	switch o {
	case Lost:
		return "lost"
	case Delivered:
		return "delivered"
	case Rejected:
		return "rejected"
	case Stored:
		return "stored"
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

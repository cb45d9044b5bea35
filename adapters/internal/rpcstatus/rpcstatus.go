// Package rpcstatus has the HTTP statuses of the codes that gRPC and Connect share.
//
// An adapter may be built with a later version of this package than its own: what is exported
// keeps its name and its meaning.
package rpcstatus

import "cmp"

// Of returns the HTTP status of a code, as the gRPC gateway and the Connect protocol have it. It
// is 500 for a number that is no code.
func Of(code uint32) int {
	statuses := [...]int{
		0: 200, 1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 14: 503, 16: 401,
		17: 500, // and above
	}
	return cmp.Or(statuses[min(code, 17)], 500)
}

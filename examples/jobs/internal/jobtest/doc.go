// Package jobtest tests the workers of package jobs and of those below it, each in its own process, with a server and a
// stand-in for the API. Its code has the build tag ci.
package jobtest

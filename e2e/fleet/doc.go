// Package fleet tests events on their way through a cluster of three NATS servers, the program nats-server:
// the network between the servers is cut, and the servers are upgraded one at a time. The tests of
// module stream kill servers, relays and programs.
package fleet

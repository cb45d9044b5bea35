// Package stream carries the events of many programs through one NATS JetStream stream.
//
// Programs publish. [Open] returns a tracker whose events are settled as Stored when the servers
// of NATS have acknowledged them, so that they survive the program and, with three replicas, one
// of the servers:
//
//	tracker, err := stream.Open(footfall.ConfigFromEnv(), stream.Config{URL: "nats://nats-1,nats://nats-2"})
//
// Relays deliver. A [Relay] takes events from the stream and sends them to the API with the
// default transport of footfall, or with another one:
//
//	relay, err := stream.NewRelay(footfall.ConfigFromEnv(), stream.Config{URL: "nats://nats-1"}, stream.RelayConfig{})
//	if err != nil {
//		return err
//	}
//	return relay.Run(ctx)
//
// Several relays share the work. Events that the API rejects move to a second stream.
// [OpenRejections] lists, retries and purges them.
//
// An event arrives at least once. A kill between the API's answer and the acknowledgement makes
// a relay send the event again, with the same Idempotency-Key, and the API counts it once.
//
// Acknowledged means written to a quorum of servers. A server with the default sync_interval of
// two minutes may lose what it has acknowledged if its machine loses power. With
// "sync_interval: always" it does not.
package stream

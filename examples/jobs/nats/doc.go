// Package nats tracks events of a consumer of NATS JetStream. Its code has the build tag ci.
package nats

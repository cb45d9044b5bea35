// Package kafka tracks events of a consumer group of Kafka. Its code has the build tag ci.
package kafka

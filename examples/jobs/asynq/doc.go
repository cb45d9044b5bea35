// Package asynq tracks events of asynq, in Redis. Its code has the build tag ci.
package asynq

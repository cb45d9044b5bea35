module github.com/footfall-dev/footfall/adapters/footfallconnect

go 1.26

require (
	connectrpc.com/connect v1.11.0
	github.com/footfall-dev/footfall v0.1.0
	google.golang.org/protobuf v1.31.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

module github.com/footfall-dev/footfall/adapters/footfallgrpc

go 1.26

require (
	github.com/footfall-dev/footfall v0.1.0
	google.golang.org/grpc v1.63.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/net v0.21.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.17.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240227224415-6ceb2ff114de // indirect
	google.golang.org/protobuf v1.33.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

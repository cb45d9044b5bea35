module github.com/footfall-dev/footfall/adapters/footfallgrpc/test

go 1.26

require (
	github.com/footfall-dev/footfall v0.1.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.1.0
	github.com/footfall-dev/footfall/adapters/footfallgrpc v0.1.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/grpc v1.63.0
	google.golang.org/protobuf v1.33.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.21.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.17.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240227224415-6ceb2ff114de // indirect
)

replace (
	github.com/footfall-dev/footfall => ../../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adaptertest
	github.com/footfall-dev/footfall/adapters/footfallgrpc => ..
)

module github.com/footfall-dev/footfall/examples/connect

go 1.26

require (
	connectrpc.com/connect v1.21.0
	github.com/footfall-dev/footfall v0.0.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.0.0
	github.com/footfall-dev/footfall/adapters/footfallconnect v0.0.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace (
	github.com/footfall-dev/footfall => ../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adapters/adaptertest
	github.com/footfall-dev/footfall/adapters/footfallconnect => ../../adapters/footfallconnect
	github.com/footfall-dev/footfall/adapters/rpctest => ../../adapters/rpctest
)

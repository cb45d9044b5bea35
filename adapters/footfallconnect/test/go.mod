module github.com/footfall-dev/footfall/adapters/footfallconnect/test

go 1.26

require (
	connectrpc.com/connect v1.11.0
	github.com/footfall-dev/footfall v0.1.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.1.0
	github.com/footfall-dev/footfall/adapters/footfallconnect v0.1.0
	github.com/stretchr/testify v1.12.1
	google.golang.org/protobuf v1.31.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace (
	github.com/footfall-dev/footfall => ../../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adaptertest
	github.com/footfall-dev/footfall/adapters/footfallconnect => ..
)

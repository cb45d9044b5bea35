module github.com/footfall-dev/footfall/adapters/adaptertest

go 1.26

require (
	github.com/coder/websocket v1.8.15
	github.com/footfall-dev/footfall v0.1.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

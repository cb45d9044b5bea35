module github.com/footfall-dev/footfall/adapters/adaptertest

go 1.26

require github.com/footfall-dev/footfall v0.0.0

require (
	github.com/coder/websocket v1.8.15
	github.com/google/uuid v1.6.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

module github.com/footfall-dev/footfall/lean

go 1.26

require (
	github.com/footfall-dev/footfall v0.1.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/net v0.58.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ..

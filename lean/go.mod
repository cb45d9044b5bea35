module github.com/footfall-dev/footfall/lean

go 1.26

require (
	github.com/footfall-dev/footfall v0.0.0
	github.com/footfall-dev/footfall/transporttest v0.0.0
	github.com/google/uuid v1.6.0
	golang.org/x/net v0.58.0
)

require golang.org/x/sync v0.22.0 // indirect

require (
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/footfall-dev/footfall => ..

replace github.com/footfall-dev/footfall/transporttest => ../transporttest

module github.com/footfall-dev/footfall/lean

go 1.26

require (
	github.com/footfall-dev/footfall v0.0.0
	github.com/footfall-dev/footfall/transporttest v0.0.0
	github.com/google/uuid v1.6.0
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/net v0.58.0
)

require (
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

require (
	github.com/klauspost/compress v1.20.0 // indirect
	github.com/molecule-man/go-brrr v1.0.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ..

replace github.com/footfall-dev/footfall/transporttest => ../transporttest

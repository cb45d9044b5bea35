module github.com/footfall-dev/footfall/examples/fiberv2

go 1.26

require (
	github.com/footfall-dev/footfall v0.0.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.0.0
	github.com/footfall-dev/footfall/adapters/footfallfiberv2 v0.0.0
	github.com/gofiber/fiber/v2 v2.52.15
)

require (
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.17.11 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasthttp v1.58.0 // indirect
	github.com/valyala/tcplisten v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.28.0 // indirect
)

replace (
	github.com/footfall-dev/footfall => ../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adapters/adaptertest
	github.com/footfall-dev/footfall/adapters/footfallfiberv2 => ../../adapters/footfallfiberv2
)

module github.com/footfall-dev/footfall/adapters/footfallfiberv2/test

go 1.26

require (
	github.com/fasthttp/websocket v1.5.0
	github.com/footfall-dev/footfall v0.1.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.1.0
	github.com/footfall-dev/footfall/adapters/footfallfiberv2 v0.1.0
	github.com/gofiber/fiber/v2 v2.40.0
	github.com/stretchr/testify v1.12.1
	github.com/valyala/fasthttp v1.41.0
)

require (
	github.com/andybalholm/brotli v1.0.4 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.15.9 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.16 // indirect
	github.com/mattn/go-runewidth v0.0.14 // indirect
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/savsgio/gotils v0.0.0-20211223103454-d0aaa54c5899 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/tcplisten v1.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.0.0-20220811171246-fbc7d0a398ab // indirect
)

replace (
	github.com/footfall-dev/footfall => ../../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adaptertest
	github.com/footfall-dev/footfall/adapters/footfallfiberv2 => ..
)

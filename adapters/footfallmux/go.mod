module github.com/footfall-dev/footfall/adapters/footfallmux

go 1.26

require (
	github.com/footfall-dev/footfall v0.1.0
	github.com/gorilla/mux v1.7.4
)

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

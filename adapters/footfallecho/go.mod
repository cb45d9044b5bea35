module github.com/footfall-dev/footfall/adapters/footfallecho

go 1.26

require (
	github.com/footfall-dev/footfall v0.1.0
	github.com/labstack/echo/v5 v5.0.4
)

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

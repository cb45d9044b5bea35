module github.com/footfall-dev/footfall/outbox

go 1.26

require github.com/footfall-dev/footfall v0.1.0

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ..

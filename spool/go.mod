module github.com/footfall-dev/footfall/spool

go 1.26.0

require (
	github.com/footfall-dev/footfall v0.1.0
	github.com/gofrs/flock v0.13.1
	github.com/google/uuid v1.6.0
	github.com/stretchr/testify v1.12.1
	go.etcd.io/bbolt v1.5.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/footfall-dev/footfall => ..

module github.com/footfall-dev/footfall/adapters/footfallgqlgen/test

go 1.26

require (
	github.com/99designs/gqlgen v0.17.50
	github.com/coder/websocket v1.8.15
	github.com/footfall-dev/footfall v0.1.0
	github.com/footfall-dev/footfall/adapters/adaptertest v0.1.0
	github.com/footfall-dev/footfall/adapters/footfallgqlgen v0.1.0
	github.com/stretchr/testify v1.12.1
	github.com/vektah/gqlparser/v2 v2.5.16
)

require (
	github.com/agnivade/levenshtein v1.1.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/sosodev/duration v1.3.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace (
	github.com/footfall-dev/footfall => ../../..
	github.com/footfall-dev/footfall/adapters/adaptertest => ../../adaptertest
	github.com/footfall-dev/footfall/adapters/footfallgqlgen => ..
)

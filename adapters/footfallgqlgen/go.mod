module github.com/footfall-dev/footfall/adapters/footfallgqlgen

go 1.26

require (
	github.com/99designs/gqlgen v0.17.50
	github.com/footfall-dev/footfall v0.1.0
	github.com/vektah/gqlparser/v2 v2.5.16
)

require (
	github.com/agnivade/levenshtein v1.1.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/mitchellh/mapstructure v1.5.0 // indirect
	github.com/sosodev/duration v1.3.1 // indirect
	golang.org/x/sync v0.22.0 // indirect
)

replace github.com/footfall-dev/footfall => ../..

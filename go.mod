module github.com/footfall-dev/footfall

go 1.26

require (
	github.com/google/uuid v1.6.0
	github.com/stretchr/testify v1.8.0
	golang.org/x/sync v0.22.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

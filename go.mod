module github.com/footfall-dev/footfall

go 1.26

require github.com/google/uuid v1.6.0

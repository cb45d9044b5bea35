// Command bare says hello and nothing else.
package main

import "github.com/footfall-dev/footfall/bench/footprint/hello"

func main() { hello.Serve(nil, nil) }

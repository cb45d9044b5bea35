// Package docs tests README.md, the pages in docs and the package documentation: programs compile, steps work,
// links reach something, and tables agree with the code.
package docs

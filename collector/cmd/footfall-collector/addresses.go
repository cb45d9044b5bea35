package main

import (
	"fmt"
	"net"

	"github.com/footfall-dev/footfall/collector/internal/publicurl"
)

// checkURL checks the public URL as collector.New does, which runs after the data is opened.
func checkURL(text string) error {
	if text != "" && !publicurl.Valid(publicurl.Trim(text)) {
		return fmt.Errorf("-public-url or FOOTFALL_PUBLIC_URL: %q is not an http or https URL without a path, such as https://stats.example.com", text)
	}
	return nil
}

// checkAddress checks the form of an address to listen on. It looks up no host.
func checkAddress(option, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not an address such as 127.0.0.1:8090 or :8090", option, address)
	}
	return nil
}

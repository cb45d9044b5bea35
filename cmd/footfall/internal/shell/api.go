package shell

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/footfall-dev/footfall"
)

// Timeout bounds each step that needs the network.
const Timeout = 10 * time.Second

// NewClient returns a client of the API. A nil httpClient means the default one.
func NewClient(cfg footfall.Config, httpClient *http.Client) (*footfall.Client, error) {
	return footfall.NewClient(footfall.ClientConfig{
		BaseURL: cfg.BaseURL, APIKey: cfg.APIKey, AllowHTTP: cfg.AllowHTTP, Timeout: Timeout, HTTPClient: httpClient,
	})
}

// CheckConfig returns the problems of a Config, without I/O. The site may be missing.
func CheckConfig(cfg footfall.Config) error {
	cfg.Disabled = false
	cfg.SiteID = cmp.Or(cfg.SiteID, "any")
	tracker, err := footfall.New(cfg)
	if err != nil {
		return err
	}
	return tracker.Close(context.Background())
}

// APIFromEnv returns the settings of the environment and a client for them.
func APIFromEnv() (footfall.Config, *footfall.Client, error) {
	cfg := footfall.ConfigFromEnv()
	if err := CheckConfig(cfg); err != nil {
		return cfg, nil, err
	}
	client, err := NewClient(cfg, nil)
	return cfg, client, err
}

// FieldErrors returns the reasons of the FieldErrors that err joins, by field.
func FieldErrors(err error) map[string]string {
	reasons := make(map[string]string)
	for _, err := range Each(err) {
		if one, ok := errors.AsType[*footfall.FieldError](err); ok {
			reasons[one.Field] = one.Reason
		}
	}
	return reasons
}

// Each returns the errors that err joins.
func Each(err error) (list []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case ok:
		for _, one := range joined.Unwrap() {
			list = append(list, Each(one)...)
		}
	case err != nil:
		list = append(list, err)
	}
	return list
}

// built is the version of a program that was built from a folder. The linker sets it.
var built string

// Version returns the version of this program. It returns devel if the program was built from a checkout
// and the linker set no version.
func Version() string {
	if built != "" {
		return built
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

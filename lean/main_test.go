package lean_test

import (
	"os"
	"testing"

	"github.com/footfall-dev/footfall/transporttest"
)

// The proxies of the environment, which net/http reads once. They are not used for loopback
// addresses, so only the tests about proxies use them.
var (
	httpProxy  = newProxy(tunnels)
	socksProxy = newProxy(socks)
)

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		serve()
		return
	}
	os.Setenv("HTTP_PROXY", "http://user:pass%20word@"+httpProxy.addr)
	os.Setenv("HTTPS_PROXY", "socks5://"+socksProxy.addr)
	os.Unsetenv("NO_PROXY")
	transporttest.Main(m)
}

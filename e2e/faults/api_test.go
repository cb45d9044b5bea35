//go:build ci && linux

package faults

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/footfall-dev/footfall/footfalltest"
)

// unreliable accepts most events, and answers the others in every way that means "not now".
func unreliable() footfalltest.Answer {
	bad := []footfalltest.Answer{
		footfalltest.Status(http.StatusInternalServerError),
		footfalltest.RetryAfter("0"),
		footfalltest.Delay(50*time.Millisecond, footfalltest.Accept()),
		footfalltest.Delay(50*time.Millisecond, footfalltest.Reset()),
		footfalltest.Reset(),
		footfalltest.AcceptThenReset(),
	}
	good, busy := footfalltest.Accept(), footfalltest.RetryAfter("1")
	return func(a *footfalltest.API, w http.ResponseWriter, r *http.Request, e footfalltest.Event) {
		answer := good
		switch dice := rand.IntN(1000); {
		case dice == 0: // rare, because it stops all deliveries for a second
			answer = busy
		case dice < 80:
			answer = bad[rand.IntN(len(bad))]
		}
		answer(a, w, r, e)
	}
}

// number returns the number of an event, which every event of these tests has.
func number(props map[string]any) int64 { return int64(props["n"].(float64)) }

// arrivals returns the numbers of the events that the API accepted, in order of arrival.
func arrivals(api *footfalltest.API) []int64 {
	events := api.Events()
	numbers := make([]int64, len(events))
	for i, e := range events {
		numbers[i] = number(e.Props)
	}
	return numbers
}

// assertOneKeyAndBody asserts that all requests for an event, also failed ones, have the same
// key and the same bytes. It returns how often an event was sent again.
func assertOneKeyAndBody(t *testing.T, api *footfalltest.API) (repeated int) {
	t.Helper()
	type sent struct{ key, body string }
	first := make(map[int64]sent)
	keys := make(map[string]int64)
	for _, r := range api.Requests() {
		var e footfalltest.Event
		require.NoError(t, json.Unmarshal(r.Body, &e), "%s", r.Body)
		n := number(e.Props)
		now := sent{r.ID, string(r.Body)}
		before, again := first[n]
		if !again {
			first[n] = now
			require.Zero(t, keys[r.ID], "events %d and %d have one key", keys[r.ID], n)
			keys[r.ID] = n
			continue
		}
		repeated++
		if before != now {
			require.Equal(t, before, now, "event %d was sent again with another key or other bytes", n)
		}
	}
	return repeated
}

// assertArrived asserts that at least these events arrived, and none under two keys.
func assertArrived(t *testing.T, api *footfalltest.API, promised []int64) {
	t.Helper()
	came := make(map[int64]int)
	for _, n := range arrivals(api) {
		came[n]++
	}
	var missing, twice []int64
	for _, n := range promised {
		if came[n] == 0 {
			missing = append(missing, n)
		}
	}
	for n, times := range came {
		if times > 1 {
			twice = append(twice, n)
		}
	}
	assert.Empty(t, missing, "%d of %d promised events were lost", len(missing), len(promised))
	assert.Empty(t, twice, "events that arrived under more than one key")
}

// deadPort is an address that refuses connections until its service starts. The port stays
// reserved until then.
type deadPort struct {
	URL  string
	file *os.File
}

func newDeadPort(t *testing.T) *deadPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	p := &deadPort{file: os.NewFile(uintptr(fd), "dead port")}
	t.Cleanup(func() { _ = p.file.Close() })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	p.URL = "http://127.0.0.1:" + strconv.Itoa(name.(*syscall.SockaddrInet4).Port)
	return p
}

// comeUp forwards the port to the API from now on.
func (p *deadPort) comeUp(t *testing.T, api *footfalltest.API) {
	t.Helper()
	require.NoError(t, syscall.Listen(int(p.file.Fd()), 128))
	listener, err := net.FileListener(p.file)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go lead(conn, strings.TrimPrefix(api.URL, "http://"))
		}
	}()
}

// lead copies in both directions until one side ends.
func lead(conn net.Conn, address string) {
	defer conn.Close()
	api, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer api.Close()
	go func() {
		defer api.Close()
		_, _ = io.Copy(api, conn)
	}()
	_, _ = io.Copy(conn, api)
}

//go:build ci && unix

// Package deploy tests the files for systemd, Docker and Kubernetes beside it.
package deploy

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// binary is the command as the Dockerfile builds it.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "footfall-deploy-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "footfall")
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*)$`).FindStringSubmatch(read("Dockerfile"))[1]
	cmd := exec.Command("sh", "-c", strings.Replace(build, "-o /footfall ", "-o "+binary+" ", 1))
	cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "VERSION=v1.2.3")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return m.Run()
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// knows asserts that the relay has a variable.
func knows(t *testing.T, variable string) {
	t.Helper()
	page := read("../../../docs/tools.md") + read("../../../docs/configuration.md") // tested against the command
	assert.Contains(t, page, "`"+variable+"`")
}

func TestDockerfileBuildsTheCommandWithItsVersion(t *testing.T) {
	assert.Contains(t, read("Dockerfile"), "\nARG VERSION\nRUN CGO_ENABLED=0 go build ")
	out, err := exec.CommandContext(t.Context(), binary, "version").Output()
	require.NoError(t, err)
	assert.Regexp(t, `^footfall v1\.2\.3, go1\.\d+`, string(out))
}

// The image has the command that is built from the checkout, unless a release says otherwise.
func TestDockerfileTakesTheCommandOfTheCheckoutByDefault(t *testing.T) {
	text := read("Dockerfile")
	for _, part := range []string{"\nARG BINARY=build\n\nFROM ", "\nFROM $BINARY AS binary\n", "\nCOPY --from=binary /footfall /usr/local/bin/footfall\n"} {
		assert.Contains(t, text, part)
	}
}

func TestDockerfileRunsTheRelayAsAnotherUserThanRoot(t *testing.T) {
	text := read("Dockerfile")
	assert.Regexp(t, `(?m)^USER [1-9]\d+:[1-9]\d+$`, text, "a number, so that Kubernetes can see that it is not root")
	assert.Contains(t, text, "ENTRYPOINT [\"/usr/local/bin/footfall\"]\nCMD [\"relay\"]\n")
	port := regexp.MustCompile(`(?m)^ENV (FOOTFALL_METRICS)=:(\d+)$`).FindStringSubmatch(text)
	knows(t, port[1])
	assert.Contains(t, text, "EXPOSE "+port[2]+"\n")
	assert.Contains(t, text, `"http://127.0.0.1:`+port[2]+`/livez"`)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("../go.mod"))
	assert.Contains(t, text, "FROM golang:"+version[1]+"-alpine AS build\n")
}

// TestRelayNeedsNoFiles runs the command of the image in an empty environment, with a health check.
func TestRelayNeedsNoFiles(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "relay")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"FOOTFALL_METRICS=" + address, "FOOTFALL_BASE_URL=https://127.0.0.1:1", "FOOTFALL_API_KEY=key", "FOOTFALL_NATS_URL=nats://127.0.0.1:1"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	status := func(path string) int {
		answer, err := http.Get("http://" + address + path)
		if err != nil {
			return 0
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	require.Eventually(t, func() bool { return status("/livez") == 200 }, 30*time.Second, 10*time.Millisecond)
	assert.Equal(t, 503, status("/readyz"))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, cmd.Wait(), out.String())
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestSystemdTakesTheUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("systemd-analyze is not installed")
		}
		t.Skip("systemd-analyze is not installed")
	}
	const installed = "ExecStart=/usr/local/bin/footfall relay\n"
	text := read("footfall-relay.service")
	require.Equal(t, 1, strings.Count(text, installed))
	file := filepath.Join(t.TempDir(), "footfall-relay.service")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(text, installed, "ExecStart="+binary+" relay\n", 1)), 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", file).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Empty(t, string(out))
	out, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", file).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range regexp.MustCompile(`FOOTFALL_\w+`).FindAllString(text, -1) {
		knows(t, name)
	}
}

// deployment is a part of the manifest. Package yaml refuses other fields of these objects.
type deployment struct {
	Kind string
	Spec struct {
		Replicas, MinAvailable int
		Selector               struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct {
				Labels, Annotations map[string]string
			}
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Args []string
					Env  []struct {
						Name, Value string
						ValueFrom   struct {
							SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					Ports []struct {
						Name          string
						ContainerPort int `yaml:"containerPort"`
					}
				}
			}
		}
	}
}

func TestKubernetesManifestFitsTheImage(t *testing.T) {
	text := read("kubernetes.yaml")
	documents := yaml.NewDecoder(strings.NewReader(text))
	var d deployment
	require.NoError(t, documents.Decode(&d))
	var budget map[string]any
	require.NoError(t, documents.Decode(&budget))
	require.ErrorIs(t, documents.Decode(&budget), io.EOF)
	assert.Equal(t, []any{"Deployment", "PodDisruptionBudget"}, []any{d.Kind, budget["kind"]})
	assert.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Metadata.Labels)
	assert.GreaterOrEqual(t, d.Spec.Replicas, 2)
	pod := d.Spec.Template.Spec
	assert.Greater(t, pod.Grace, 10, "-stop-timeout and a few seconds")
	c := pod.Containers[0]
	assert.Equal(t, []string{"relay"}, c.Args)
	for _, e := range c.Env {
		knows(t, e.Name)
		assert.True(t, e.Value != "" || strings.Contains(text, "--from-literal="+e.ValueFrom.SecretKeyRef.Key+"="), e.Name)
	}
	port := c.Ports[0]
	assert.Contains(t, text, `{name: FOOTFALL_METRICS, value: ":9091"}`)
	assert.Equal(t, 9091, port.ContainerPort)
	assert.Equal(t, "9091", d.Spec.Template.Metadata.Annotations["prometheus.io/port"])
	assert.Contains(t, text, "livenessProbe:\n            httpGet: {path: /livez, port: "+port.Name+"}")
	assert.Contains(t, text, "readinessProbe:\n            httpGet: {path: /readyz, port: "+port.Name+"}")
}

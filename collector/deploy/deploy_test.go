//go:build ci && unix

// Package deploy tests the files for systemd and Docker beside it.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := filepath.Dir(built.file); built.file != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// built is the command as the Dockerfile builds it.
var built struct {
	once sync.Once
	file string
	err  error
	out  []byte
}

// binary runs the Dockerfile's build of the command and returns its file.
func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "footfall-deploy-")
		require.NoError(t, err)
		require.NoError(t, os.Chmod(dir, 0o755)) // other users run it
		built.file = filepath.Join(dir, "footfall-collector")
		var build string
		for _, line := range readDockerfile(t) {
			if line.word == "RUN" && strings.Contains(line.rest, "go build") {
				build = strings.ReplaceAll(line.rest, "-o /footfall-collector", "-o "+built.file)
			}
		}
		require.Contains(t, build, built.file)
		cmd := exec.Command("sh", "-c", build)
		cmd.Dir = ".."
		cmd.Env = append(os.Environ(), "VERSION=v1.2.3", "GOWORK=off")
		built.out, built.err = cmd.CombinedOutput()
	})
	require.NoError(t, built.err, string(built.out))
	return built.file
}

// variables returns the environment variables that the command knows.
func variables(t *testing.T) []string {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), binary(t), "serve", "-help").Output()
	require.NoError(t, err)
	names := regexp.MustCompile(`FOOTFALL_[A-Z_]+`).FindAllString(string(help), -1)
	require.Contains(t, names, "FOOTFALL_DATA")
	return names
}

func TestDockerfileBuildsTheCommandWithItsVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), binary(t), "version").Output()
	require.NoError(t, err)
	assert.Equal(t, "footfall-collector v1.2.3\n", string(out))
}

// instruction is a line of a Dockerfile.
type instruction struct{ word, rest string }

func readDockerfile(t *testing.T) (all []instruction) {
	t.Helper()
	data, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		require.False(t, strings.HasSuffix(line, `\`), "this test reads no continued lines")
		word, rest, _ := strings.Cut(line, " ")
		all = append(all, instruction{word, rest})
	}
	return all
}

// settings are the values of the instructions of the last stage.
func settings(t *testing.T) map[string]string {
	t.Helper()
	last := map[string]string{}
	for _, line := range readDockerfile(t) {
		if line.word == "FROM" {
			last = map[string]string{}
		}
		last[line.word] = line.rest
	}
	return last
}

func TestDockerfileNamesWhatExists(t *testing.T) {
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "ARG", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
	made := map[string]string{"build": "/footfall-collector", "folder": "/data", "release": "/footfall-collector", "binary": "/footfall-collector"} // by stages
	for _, line := range readDockerfile(t) {
		assert.Contains(t, known, line.word)
		if line.word != "COPY" {
			continue
		}
		words := strings.Fields(line.rest)
		if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
			assert.Equal(t, made[stage], words[len(words)-2], line.rest)
			continue
		}
		for _, source := range words[:len(words)-1] {
			if strings.HasPrefix(source, "$TARGETPLATFORM/") { // of a release
				continue
			}
			_, err := os.Stat(filepath.Join("..", source))
			assert.NoError(t, err)
		}
	}
}

// The image has the command that is built from the checkout, unless a release says otherwise.
func TestDockerfileTakesTheCommandOfTheCheckoutByDefault(t *testing.T) {
	lines := readDockerfile(t)
	assert.Equal(t, instruction{"ARG", "BINARY=build"}, lines[0])
	assert.Contains(t, lines, instruction{"FROM", "$BINARY AS binary"})
	assert.Contains(t, lines, instruction{"COPY", "--from=binary /footfall-collector /usr/local/bin/footfall-collector"})
}

func TestDockerfileBuildsWithTheGoOfTheModule(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	require.NotNil(t, version)
	assert.Contains(t, readDockerfile(t), instruction{"FROM", "golang:" + string(version[1]) + "-alpine AS build"})
}

func TestImageRunsTheServiceAsAnotherUserThanRoot(t *testing.T) {
	set := settings(t)
	assert.Regexp(t, `^[1-9]\d+:[1-9]\d+$`, set["USER"], "a number, so that Kubernetes can see that it is not root")
	assert.Equal(t, `["/usr/local/bin/footfall-collector"] ["serve"]`, set["ENTRYPOINT"]+" "+set["CMD"])
	require.NoError(t, exec.CommandContext(t.Context(), binary(t), "serve", "-help").Run())
	env := map[string]string{}
	for pair := range strings.FieldsSeq(set["ENV"]) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
		assert.Contains(t, variables(t), name)
	}
	assert.Equal(t, set["VOLUME"], env["FOOTFALL_DATA"])
	assert.Equal(t, ":"+set["EXPOSE"], env["FOOTFALL_LISTEN"])
	assert.Contains(t, set["HEALTHCHECK"], `"http://127.0.0.1:`+set["EXPOSE"]+`/healthz"`)
	assert.Contains(t, set["COPY"], "--chown="+set["USER"]+" "+set["VOLUME"]+" "+set["VOLUME"])
}

// composition is a compose file. Other keys of it are an error.
type composition struct {
	Services struct {
		Collector struct {
			Build struct {
				Context    string
				Dockerfile string
				Args       map[string]string
			}
			Environment map[string]string
			Ports       []string
			Volumes     []string
			ReadOnly    bool `yaml:"read_only"`
			Tmpfs       []string
			CapDrop     []string `yaml:"cap_drop"`
			SecurityOpt []string `yaml:"security_opt"`
			Restart     string
			Grace       string `yaml:"stop_grace_period"`
		}
	}
	Volumes map[string]any
}

func TestComposeFileFitsTheImage(t *testing.T) {
	file, err := os.Open("compose.yaml")
	require.NoError(t, err)
	defer file.Close()
	var c composition
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&c))
	service, set := &c.Services.Collector, settings(t)
	assert.FileExists(t, filepath.Join(service.Build.Context, service.Build.Dockerfile))
	assert.FileExists(t, filepath.Join(service.Build.Context, "go.mod"))
	assert.Contains(t, service.Build.Args, "VERSION")
	assert.NotEmpty(t, service.Environment)
	for name := range service.Environment {
		assert.Contains(t, variables(t), name)
	}
	assert.Equal(t, []string{"127.0.0.1:8090:" + set["EXPOSE"]}, service.Ports, "other machines do not reach it without a proxy")
	require.Len(t, service.Volumes, 1)
	volume, target, _ := strings.Cut(service.Volumes[0], ":")
	assert.Contains(t, c.Volumes, volume)
	assert.Equal(t, set["VOLUME"], target)
	assert.Equal(t, []string{"ALL"}, service.CapDrop)
	assert.True(t, service.ReadOnly)
}

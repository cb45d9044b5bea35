package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// config is .goreleaser.yaml. Other keys of it are an error.
type config struct {
	Version     int
	ProjectName string `yaml:"project_name"`
	Builds      []struct {
		ID, Dir, Main, Binary, Ldflags string
		Env, Flags, Targets            []string
		ModTimestamp                   string `yaml:"mod_timestamp"`
	}
	Archives []archive
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
	Sboms   []struct{ Artifacts string }
	Dockers []struct {
		ID, Dockerfile          string
		IDs                     []string
		Platforms, Images, Tags []string
		BuildArgs               map[string]string `yaml:"build_args"`
		Labels                  map[string]string
	} `yaml:"dockers_v2"`
	DockerDigest struct {
		NameTemplate string `yaml:"name_template"`
	} `yaml:"docker_digest"`
	Changelog struct{ Disable bool }
	Release   struct{ Prerelease, Header string }
}

type archive struct {
	ID              string
	IDs             []string
	NameTemplate    string `yaml:"name_template"`
	FormatOverrides []struct {
		Goos    string
		Formats []string
	} `yaml:"format_overrides"`
	BuildsInfo info `yaml:"builds_info"`
	Files      []struct {
		Src         string
		StripParent bool `yaml:"strip_parent"`
		Info        info
	}
}

// info is what an archive says about a file.
type info struct {
	Owner, Group, Mtime string
	Mode                os.FileMode
}

func readConfig(t *testing.T) (c config) {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", ".goreleaser.yaml"))
	require.NoError(t, err)
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&c))
	require.Len(t, c.Builds, 2, "the two commands")
	require.Len(t, c.Archives, 2)
	require.Len(t, c.Dockers, 2)
	return c
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(text)
}

// buildLine returns the command that builds the command of an image.
func buildLine(t *testing.T, dockerfile string) string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^RUN (.* go build .*)$`).FindStringSubmatch(readText(t, dockerfile))
	require.NotNil(t, line, dockerfile)
	return line[1]
}

// A release, an image that is built from a checkout, and a reader of docs/deploy.md make the same file.
func TestReleaseImageAndReaderBuildTheSame(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	page := readText(t, "docs/deploy.md")
	for i, build := range c.Builds {
		assert.Equal(t, "CGO_ENABLED=0", build.Env[0])
		ldflags := strings.ReplaceAll(build.Ldflags, "v{{ .Version }}", "$VERSION")
		line := build.Env[0] + " go build " + strings.Join(build.Flags, " ") + ` -ldflags "` + ldflags + `" -o /` + build.Binary + " " + build.Main
		assert.Equal(t, line, buildLine(t, c.Dockers[i].Dockerfile))
		reader := strings.NewReplacer(build.Env[0], strings.Join(build.Env, " "), "$VERSION", "v0.1.0", " -o /", " -o ").Replace(line)
		assert.True(t, strings.Contains(page, "\n    "+reader+"\n"), "docs/deploy.md has no line %s", reader)
		main := filepath.Join("..", "..", build.Dir, build.Main, "main.go")
		assert.FileExists(t, main)
		assert.Contains(t, build.Main+"/", "/"+build.Binary+"/")
		assert.Equal(t, "{{ .CommitTimestamp }}", build.ModTimestamp)
	}
}

// The image's build of the collector sees its folder only, and no go.work, which raises versions of its requirements.
func TestOnlyTheCommandInsideTheWorkspaceIsBuiltWithIt(t *testing.T) {
	t.Parallel()
	for _, build := range readConfig(t).Builds {
		alone := len(build.Env) == 2 && build.Env[1] == "GOWORK=off"
		assert.Equal(t, build.Dir != "", alone, build.ID)
	}
}

func TestArchivesOfTwoBuildsAreEqual(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	for i, a := range c.Archives {
		assert.Equal(t, []string{c.Builds[i].ID}, a.IDs)
		assert.True(t, strings.HasPrefix(a.NameTemplate, c.Builds[i].Binary+"_{{ .Version }}_"), a.NameTemplate)
		assert.Equal(t, info{"root", "root", "{{ .CommitDate }}", 0o755}, a.BuildsInfo)
		assert.Equal(t, "LICENSE", a.Files[0].Src)
		for _, f := range a.Files {
			assert.Equal(t, info{"root", "root", "{{ .CommitDate }}", 0o644}, f.Info)
			found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(f.Src)))
			require.NoError(t, err)
			assert.NotEmpty(t, found, f.Src)
			assert.Equal(t, strings.Contains(f.Src, "/"), f.StripParent, f.Src)
		}
	}
}

func TestImagesOfAReleaseHaveTheCommandsOfTheArchives(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	for i, image := range c.Dockers {
		build := c.Builds[i]
		assert.Equal(t, []string{build.ID}, image.IDs)
		assert.Equal(t, map[string]string{"BINARY": "release"}, image.BuildArgs)
		text := readText(t, image.Dockerfile)
		assert.Contains(t, text, "\nFROM scratch AS release\nARG TARGETPLATFORM\nCOPY $TARGETPLATFORM/"+build.Binary+" /"+build.Binary+"\n")
		for _, platform := range image.Platforms {
			assert.Contains(t, build.Targets, strings.ReplaceAll(platform, "/", "_"))
		}
		last := text[strings.LastIndex(text, "\nFROM "):]
		assert.NotContains(t, last, "\nRUN ", "it would need an emulator of the other platform")
		name := "footfall-dev/" + build.Binary
		assert.Equal(t, []string{"{{ .Env.REGISTRY }}/" + name}, image.Images)
		assert.True(t, strings.Contains(readText(t, "docs/deploy.md"), "`"+name+":v0.1.0`"), "docs/deploy.md does not name %s", name)
		assert.Equal(t, "v{{ .Version }}", image.Tags[0])
	}
}

// The workflow attests the files that goreleaser writes, with the version of goreleaser that make release-check runs.
func TestTheWorkflowOfReleasesFitsTheConfiguration(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	workflow := readText(t, ".github/workflows/release.yml")
	for _, name := range []string{c.Checksum.NameTemplate, c.DockerDigest.NameTemplate} {
		require.NotEmpty(t, name)
		assert.Contains(t, workflow, "subject-checksums: dist/"+name+"\n")
	}
	assert.Equal(t, "archive", c.Sboms[0].Artifacts)
	assert.Contains(t, workflow, "anchore/sbom-action/download-syft@")
	version := regexp.MustCompile(`(?m)^GORELEASER +:= github.com/goreleaser/goreleaser/v2@(v2\.\S+)$`).FindStringSubmatch(readText(t, "Makefile"))
	require.NotNil(t, version)
	assert.Contains(t, workflow, "version: "+version[1]+"\n")
	goLine := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readText(t, "go.mod"))
	for _, name := range []string{workflow, readText(t, ".github/workflows/ci.yml")} {
		assert.Contains(t, name, `go-version: "`+goLine[1]+`"`)
	}
	assert.Contains(t, readText(t, ".github/workflows/ci.yml"), "container: golang:"+goLine[1]+"-")
	assert.Contains(t, readText(t, ".github/workflows/ci.yml"), "run: "+path.Join(".ci", "run")+"\n")
}

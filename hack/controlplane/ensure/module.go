// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	// modulePath is the module that this command belongs to.
	modulePath = "github.com/machinist-dev/machinist/hack/controlplane"
	// kubernetesModule is the module whose version Kubernetes components report.
	kubernetesModule = "k8s.io/kubernetes"
	// hashBytes is how much of the hash names the folder: enough for no two to meet, short enough to read.
	hashBytes = 8
)

// module is this module: what it asks for decides what is built, and where it is kept.
type module struct {
	dir  string
	hash string // names the versions of all modules, and how they are built
}

// openModule reads the module in dir.
func openModule(dir string) (module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return module{}, fmt.Errorf("resolving the module's folder: %w", err)
	}
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return module{}, fmt.Errorf("reading module %s: %w: run this as `go -C hack/controlplane run ./ensure`",
				modulePath, err)
		}
		if name == "go.mod" && !declares(content, modulePath) {
			return module{}, fmt.Errorf("%s is not the go.mod of %s: run this as `go -C hack/controlplane run ./ensure`",
				filepath.Join(dir, name), modulePath)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	}
	fmt.Fprintf(hash, "flags %q", buildFlags(version{}))
	return module{dir: dir, hash: hex.EncodeToString(hash.Sum(nil)[:hashBytes])}, nil
}

func declares(goMod []byte, path string) bool {
	return regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(path) + `\s*$`).Match(goMod)
}

// version is the version of Kubernetes that the components are built from.
type version struct {
	full         string // such as v1.37.2
	major, minor string
	date         time.Time // when it was made; zero if the module proxy does not say
}

// kubernetesVersion asks the go command, so that the version is written in go.mod and nowhere else.
func (m module) kubernetesVersion(ctx context.Context) (version, error) {
	output, err := m.goCommand(ctx, "list", "-m", "-json", kubernetesModule).Output()
	if err != nil {
		return version{}, fmt.Errorf("asking for the version of %s: %w", kubernetesModule, explain(err))
	}
	var info struct {
		Version string
		Time    time.Time
	}
	if err := json.Unmarshal(output, &info); err != nil {
		return version{}, fmt.Errorf("asking for the version of %s: %w", kubernetesModule, err)
	}
	v, err := parseVersion(info.Version)
	v.date = info.Time
	return v, err
}

var versionPattern = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// parseVersion splits a version of the form that Kubernetes uses: v1.37.2 or v1.38.0-beta.1.
func parseVersion(text string) (version, error) {
	match := versionPattern.FindStringSubmatch(text)
	if match == nil {
		return version{}, fmt.Errorf("the version of %s is %q, expected a form like v1.37.2", kubernetesModule, text)
	}
	return version{full: text, major: match[1], minor: match[2]}, nil
}

// goCommand prepares a run of the go command on this module, for the platform that we are running on.
func (m module) goCommand(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = m.dir
	goos, goarch, _ := strings.Cut(platform, "-")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+goos, "GOARCH="+goarch)
	// An interrupt lets the go command remove its work folder.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	return command
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"

	// assetsVariable is the variable by which envtest's users everywhere name the folder of their binaries.
	assetsVariable = "KUBEBUILDER_ASSETS"
	// modulePath finds this repository's folder from any module that depends on it, such as test/peers.
	modulePath = "github.com/machinist-dev/machinist"
)

// assetsDir returns the folder that holds the named components. It builds them if it must, which takes minutes.
func assetsDir(ctx context.Context, components ...string) (string, error) {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		return ensureAssets(ctx, components)
	}
	for _, component := range components {
		if _, err := os.Stat(filepath.Join(dir, component)); err != nil {
			return "", fmt.Errorf("%s is %s, where %s is missing: unset it, and the control plane is built from source, "+
				"or name a folder that has it", assetsVariable, dir, component)
		}
	}
	return dir, nil
}

// ensureAssets runs hack/controlplane/ensure. Its progress goes to our standard error: a first build takes minutes.
func ensureAssets(ctx context.Context, components []string) (string, error) {
	root, err := goOutput(ctx, "list", "-m", "-f", "{{.Dir}}", modulePath)
	if err != nil {
		return "", fmt.Errorf("finding the folder of module %s: %w", modulePath, err)
	}
	dir, err := goOutput(ctx, "-C", filepath.Join(root, "hack", "controlplane"),
		"run", "./ensure", "-components="+strings.Join(components, ","))
	if err != nil {
		return "", fmt.Errorf("getting %s: %w", strings.Join(components, ", "), err)
	}
	return dir, nil
}

func goOutput(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Stderr = os.Stderr
	// `go run` passes no signal on, so the whole group gets it: a build that nobody waits for any more must end.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = stopTimeout
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), errors.Join(err, ctx.Err()))
	}
	return string(bytes.TrimSpace(output)), nil
}

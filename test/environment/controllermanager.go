// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// readinessInterval is how often a starting component is asked whether it is healthy.
	readinessInterval = 50 * time.Millisecond
	// probeTimeout bounds one such question.
	probeTimeout = time.Second
)

// startControllerManager runs the two controllers without which deletion in a test cluster is not what it is elsewhere, and
// the one that puts together the ClusterRoles with an aggregation rule.
func (e *Environment) startControllerManager(ctx context.Context, launch *launcher) error {
	admin := envtest.User{Name: controllerManagerName, Groups: []string{"system:masters"}}
	user, err := e.plane.AddUser(admin, &rest.Config{})
	if err != nil {
		return fmt.Errorf("making credentials for %s: %w", controllerManagerName, err)
	}
	kubeconfig := filepath.Join(e.dir, controllerManagerName+".kubeconfig")
	if err := writeKubeconfig(user.Config(), kubeconfig, controllerManagerName); err != nil {
		return err
	}
	address, err := FreeAddress(ctx)
	if err != nil {
		return err
	}
	manager, err := startComponent(launch, controllerManagerName,
		"--kubeconfig="+kubeconfig,
		"--controllers=clusterrole-aggregation-controller,garbage-collector-controller,namespace-controller",
		"--leader-elect=false",
		"--bind-address="+address.Addr().String(),
		fmt.Sprintf("--secure-port=%d", address.Port()),
		"--cert-dir="+filepath.Join(e.dir, controllerManagerName+".certs"),
		// The defaults are meant to spare a shared API server.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	)
	if err != nil {
		return err
	}
	e.controllerManager = manager
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := manager.waitHealthy(ctx, "https://"+address.String()+"/healthz"); err != nil {
		return fmt.Errorf("starting %s: %w; %s", controllerManagerName, err, launch.logTail(controllerManagerName))
	}
	return nil
}

// component is a process of the control plane that envtest does not know.
type component struct {
	name   string
	pid    int
	exited chan struct{} // closed when the process has ended
}

func startComponent(launch *launcher, name string, args ...string) (*component, error) {
	path, err := launch.script(name)
	if err != nil {
		return nil, err
	}
	log, err := launch.logFile(name)
	if err != nil {
		return nil, err
	}
	command := exec.Command(path, args...) //nolint:noctx // it outlives the start, and Stop ends it
	command.Stdout = log
	command.Stderr = log
	// A group of its own, so that Ctrl-C in a terminal leaves the order of the end to Stop.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	c := &component{name: name, pid: command.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		_ = command.Wait() // how it ended is in its log
	}()
	return c, nil
}

// waitHealthy returns when url answers 200, or with an error when the component exits or ctx ends before.
func (c *component) waitHealthy(ctx context.Context, url string) error {
	transport := &http.Transport{
		// The component makes its own certificate at each start; this asks for its health and sends nothing.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	}
	client := &http.Client{Transport: transport, Timeout: probeTimeout}
	ticker := time.NewTicker(readinessInterval)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("asking for the health of %s: %w", c.name, err)
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-c.exited:
			return errors.New("it exited before it was healthy")
		case <-ctx.Done():
			return fmt.Errorf("it is not healthy: %w", context.Cause(ctx))
		}
	}
}

// stop asks the component to end, and kills it if it has not done so after the timeout.
func (c *component) stop(timeout time.Duration) error {
	_ = syscall.Kill(c.pid, syscall.SIGTERM) // fails only if the component has ended
	select {
	case <-c.exited:
		return nil
	case <-time.After(timeout):
	}
	_ = syscall.Kill(-c.pid, syscall.SIGKILL)
	<-c.exited
	return fmt.Errorf("%s did not end within %s of SIGTERM and was killed", c.name, timeout)
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

//go:embed audit_policy.yaml
var auditPolicy []byte

// startPlane starts etcd and kube-apiserver, and installs the CRDs.
func (e *Environment) startPlane(ctx context.Context, launch *launcher, options Options) error {
	plane := &envtest.Environment{
		// A suite must not run against somebody's cluster because USE_EXISTING_CLUSTER happens to be set.
		UseExistingCluster:       new(false),
		ErrorIfCRDPathMissing:    true,
		CRDDirectoryPaths:        options.CRDPaths,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
	}
	if err := configureEtcd(plane, launch); err != nil {
		return err
	}
	if err := configureAPIServer(plane, launch); err != nil {
		return err
	}
	if options.CountRequests {
		log, err := configureAudit(plane, launch.dir)
		if err != nil {
			return err
		}
		e.requests = log
	}
	e.plane = plane

	// envtest's Start knows no context. It is left to finish, which takes seconds: what it starts is only known afterwards.
	if _, err := plane.Start(); err != nil {
		return fmt.Errorf("starting the test control plane: %w\n%s: %s\n%s: %s", err,
			etcdName, launch.logTail(etcdName), apiServerName, launch.logTail(apiServerName))
	}
	return ctx.Err()
}

func configureEtcd(plane *envtest.Environment, launch *launcher) error {
	path, err := launch.script(etcdName)
	if err != nil {
		return err
	}
	log, err := launch.logFile(etcdName)
	if err != nil {
		return err
	}
	plane.ControlPlane.Etcd = &envtest.Etcd{
		Path:    path,
		DataDir: filepath.Join(launch.dir, "data"),
		Out:     log,
		Err:     log,
	}
	return nil
}

func configureAPIServer(plane *envtest.Environment, launch *launcher) error {
	path, err := launch.script(apiServerName)
	if err != nil {
		return err
	}
	log, err := launch.logFile(apiServerName)
	if err != nil {
		return err
	}
	certs := filepath.Join(launch.dir, "certs")
	if err := os.Mkdir(certs, 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	server := plane.ControlPlane.GetAPIServer()
	server.Path = path
	server.CertDir = certs
	server.Out = log
	server.Err = log
	server.Configure().
		Set("advertise-address", "127.0.0.1").
		// Nobody reaches the API server through the kubernetes Service here.
		Set("endpoint-reconciler-type", "none").
		// Fair queuing would hold back whichever client is measured.
		Set("enable-priority-and-fairness", "false").
		// Tests work on one core or two: a full queue means a slow machine, not an attack.
		Set("max-requests-inflight", "0").
		Set("max-mutating-requests-inflight", "0")
	return nil
}

// configureAudit makes the API server record each request in a file, and returns the reader of that file.
func configureAudit(plane *envtest.Environment, dir string) (*requestLog, error) {
	policyPath := filepath.Join(dir, "audit_policy.yaml")
	if err := os.WriteFile(policyPath, auditPolicy, 0o600); err != nil {
		return nil, fmt.Errorf("writing the audit policy: %w", err)
	}
	logPath := filepath.Join(dir, "audit.log")
	plane.ControlPlane.GetAPIServer().Configure().
		Set("audit-policy-file", policyPath).
		Set("audit-log-path", logPath).
		Set("audit-log-format", "json").
		// Each entry is in the file before the request goes on; the exactness of Requests rests on it.
		Set("audit-log-mode", "blocking").
		// In megabytes. A rotated log would lose requests, and 0 means the default of 100.
		Set("audit-log-maxsize", "1000000")
	return newRequestLog(logPath), nil
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	// startTimeout bounds the start of each component. On two busy cores the API server needs up to ten seconds, and a
	// component that fails exits long before, so the bound only matters for one that hangs.
	startTimeout = 60 * time.Second
	// stopTimeout bounds the graceful end of each component; the guard kills what is left.
	stopTimeout = 10 * time.Second
	// logDirVariable names a folder that keeps the components' logs after the environment is gone.
	logDirVariable = "MACHINIST_LOG_DIR"
)

// Options say what runs and what is installed. The zero value is etcd and kube-apiserver with nothing installed.
type Options struct {
	// CRDPaths are files, or folders of files, with CustomResourceDefinitions in YAML or JSON. They are installed and
	// served when Start returns. A path that does not exist is an error.
	CRDPaths []string

	// WithControllerManager also runs kube-controller-manager, with the garbage collector, the namespace controller, and the
	// controller that puts together ClusterRoles with an aggregation rule.
	WithControllerManager bool

	// CountRequests makes Requests work. See the package documentation for what it costs.
	CountRequests bool

	// KubeconfigPath is where the administrator's kubeconfig is written for people to use; the file must not exist yet,
	// and is removed at the end. Empty means a file in the environment's own folder.
	KubeconfigPath string
}

// Environment is a running control plane. Its methods are safe for concurrent use.
type Environment struct {
	// Config is an administrator's access. Treat it as read-only; ConfigFor returns a copy to change.
	Config *rest.Config

	// KubeconfigPath is a kubeconfig file with the same access, for kubectl and for programs that take a file.
	KubeconfigPath string

	dir               string
	guard             *guard
	plane             *envtest.Environment
	controllerManager *component
	requests          *requestLog
	stop              func() error
}

// Start brings a control plane up and returns when it serves requests, and the CRDs of the options.
//
// ctx bounds the start only, so that a context which ends with the set-up step of a suite does not end the environment.
// If it ends during the start, Start stops what it had started and returns the context's error. An error names the
// component and holds the end of its log.
func Start(ctx context.Context, options Options) (*Environment, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting a test control plane: %w", err)
	}
	assets, err := assetsDir(ctx, options.components()...)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "machinist-environment-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of the test control plane: %w", err)
	}
	e := &Environment{dir: dir}
	e.stop = sync.OnceValue(e.end)
	if err := e.start(ctx, assets, options); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

func (o Options) components() []string {
	components := []string{etcdName, apiServerName}
	if o.WithControllerManager {
		components = append(components, controllerManagerName)
	}
	return components
}

// start leaves what it could start in e, so that Stop finds it after an error.
func (e *Environment) start(ctx context.Context, assets string, options Options) error {
	kubeconfigPath := options.KubeconfigPath
	if kubeconfigPath == "" {
		kubeconfigPath = filepath.Join(e.dir, "kubeconfig")
	}
	if _, err := os.Lstat(kubeconfigPath); err == nil {
		return fmt.Errorf("the kubeconfig of the test control plane would overwrite %s: remove it or choose another path",
			kubeconfigPath)
	}
	logs, err := logDir(e.dir)
	if err != nil {
		return err
	}
	if e.guard, err = startGuard(e.dir, kubeconfigPath); err != nil {
		return err
	}
	launch := &launcher{assets: assets, dir: e.dir, logs: logs}
	defer launch.closeLogs()
	if err := e.startPlane(ctx, launch, options); err != nil {
		return err
	}
	e.Config = e.plane.Config
	e.KubeconfigPath = kubeconfigPath
	if err := writeKubeconfig(e.Config, kubeconfigPath, adminName); err != nil {
		return err
	}
	if options.WithControllerManager {
		if err := e.startControllerManager(ctx, launch); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// logDir returns the folder for the components' logs, one per environment: a lasting one if the developer asked for it.
func logDir(dir string) (string, error) {
	parent := os.Getenv(logDirVariable)
	if parent == "" {
		parent = dir
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("making the folder named by %s: %w", logDirVariable, err)
	}
	logs, err := os.MkdirTemp(parent, "logs-")
	if err != nil {
		return "", fmt.Errorf("making the folder of the control plane's logs: %w", err)
	}
	return logs, nil
}

// Stop ends the control plane and removes its files. It may be called more than once, from any state, also after the
// context of Start has ended; later calls return what the first one returned. The error lists the components that had to
// be killed or files that could not be removed.
func (e *Environment) Stop() error {
	return e.stop()
}

func (e *Environment) end() error {
	var errs []error
	if e.controllerManager != nil {
		errs = append(errs, e.controllerManager.stop(stopTimeout))
	}
	if e.plane != nil {
		if err := e.plane.Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stopping the control plane: %w", err))
		}
	}
	if e.guard != nil {
		errs = append(errs, e.guard.release())
	}
	if err := os.RemoveAll(e.dir); err != nil {
		errs = append(errs, fmt.Errorf("removing the folder of the test control plane: %w", err))
	}
	return errors.Join(errs...)
}

// ConfigFor returns a copy of Config that carries the given user agent, by which Requests tells clients apart.
func (e *Environment) ConfigFor(userAgent string) *rest.Config {
	config := rest.CopyConfig(e.Config)
	config.UserAgent = userAgent
	return config
}

// CreateNamespace makes a namespace with a fresh name that starts with prefix, and returns the name. One per spec keeps
// specs independent. Without a kube-controller-manager a namespace can't be emptied by deleting it.
func (e *Environment) CreateNamespace(ctx context.Context, prefix string) (string, error) {
	clientset, err := kubernetes.NewForConfig(e.Config)
	if err != nil {
		return "", fmt.Errorf("making a client for the test control plane: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	namespace, err = clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("creating a namespace named %s-*: %w", prefix, err)
	}
	return namespace.Name, nil
}

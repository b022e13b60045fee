// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/simulator"
)

// The pace of the simulated cloud: slow enough to watch, fast enough not to wait for.
var pace = simulator.Options{
	ClusterDelay:   time.Second,
	BootstrapDelay: time.Second,
	ProvisionDelay: 4 * time.Second,
	NodeDelay:      3 * time.Second,
	DeletionDelay:  3 * time.Second,
	Jitter:         0.5,
}

// demo is one run: what was started, in order, and how to end it.
type demo struct {
	options
	screen *screen

	root   string // of the repository
	dir    string // for temporary files
	client client.Client

	environment *environment.Environment
	simulator   *simulator.Simulator
	manager     *manager
	machines    *machines
	// created gets the result of the creation of all objects.
	created chan error

	// cleanups are run in reverse order.
	cleanups []func() error
}

func (d *demo) later(cleanup func() error) { d.cleanups = append(d.cleanups, cleanup) }

func (d *demo) cleanUp() error {
	if len(d.cleanups) > 0 {
		d.screen.step("Cleaning up")
	}
	var errs []error
	for _, cleanup := range slices.Backward(d.cleanups) {
		errs = append(errs, cleanup())
	}
	return errors.Join(errs...)
}

func (d *demo) run(ctx context.Context) error {
	for _, start := range []func(context.Context) error{
		d.prepare, d.startEnvironment, d.startSimulator, d.startManager, d.watchMachines, d.createMachines,
	} {
		if err := start(ctx); err != nil {
			return orInterrupted(ctx, err)
		}
	}
	if err := d.untilRunning(ctx); err != nil {
		return orInterrupted(ctx, err)
	}
	if d.exitWhenRunning {
		return orInterrupted(ctx, d.deleteOne(ctx))
	}
	d.guide()
	select {
	case <-ctx.Done():
		return nil
	case <-d.manager.exited:
		return d.manager.failure()
	}
}

// orInterrupted replaces the many ways in which an interrupted step fails by what happened.
func orInterrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted before it was done")
	}
	return err
}

func (d *demo) prepare(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the repository: %w", err)
	}
	d.root = filepath.Dir(strings.TrimSpace(string(output)))
	if d.dir, err = os.MkdirTemp("", "machinist-demo-"); err != nil {
		return err
	}
	d.later(func() error { return os.RemoveAll(d.dir) })

	// Libraries may log whatever they like, but not into the table.
	log, err := os.Create(filepath.Join(d.dir, "demo.log"))
	if err != nil {
		return err
	}
	d.later(log.Close)
	klog.LogToStderr(false)
	klog.SetOutput(log)
	ctrl.SetLogger(klog.Background())

	d.screen.step("Building the manager")
	return build(ctx, d.root)
}

func (d *demo) startEnvironment(ctx context.Context) error {
	d.screen.step("Starting etcd, kube-apiserver and kube-controller-manager")
	crds := filepath.Join(d.dir, "simulator-crds.yaml")
	if err := writeSimulatorCRDs(crds); err != nil {
		return err
	}
	env, err := environment.Start(ctx, environment.Options{
		CRDPaths:              []string{filepath.Join(d.root, "config", "crd", "bases"), crds},
		WithControllerManager: true,
	})
	if err != nil {
		return err
	}
	d.environment = env
	d.later(env.Stop)

	objects := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(objects), clusterv1.AddToScheme(objects)); err != nil {
		return err
	}
	config := env.ConfigFor("machinist-demo")
	config.QPS, config.Burst = -1, -1
	d.client, err = client.New(config, client.Options{Scheme: objects})
	return err
}

func writeSimulatorCRDs(path string) error {
	var documents []byte
	for _, crd := range []any{
		simulator.InfraMachineCRD(simulator.CRDOptions{OneVersion: true}),
		simulator.BootstrapConfigCRD(simulator.CRDOptions{OneVersion: true}),
	} {
		document, err := yaml.Marshal(crd)
		if err != nil {
			return err
		}
		documents = append(append(documents, "---\n"...), document...)
	}
	return os.WriteFile(path, documents, 0o600)
}

func (d *demo) startSimulator(ctx context.Context) (err error) {
	d.screen.step("Starting the simulated providers and workload clusters")
	opts := pace
	opts.PayloadSize = payloadSize
	// Nobody reads what each of many objects waits for.
	opts.Quiet = d.options.machines != sampleMachines
	d.simulator, err = simulator.Start(ctx, d.environment.Config, opts)
	if err != nil {
		return err
	}
	d.later(d.simulator.Stop)
	return nil
}

func (d *demo) startManager(context.Context) (err error) {
	d.manager, err = startManager(d.root, d.dir, d.environment.KubeconfigPath)
	if err != nil {
		return err
	}
	d.later(d.manager.stop)
	d.screen.step("Started the manager, its log is " + d.manager.logPath)
	return nil
}

func (d *demo) watchMachines(ctx context.Context) (err error) {
	d.machines, err = watchMachines(ctx, d.environment.ConfigFor("machinist-demo"))
	if err != nil {
		return err
	}
	d.later(d.machines.stop)
	return nil
}

// createMachines begins to create those of config/samples, or as many others as were asked for.
func (d *demo) createMachines(ctx context.Context) error {
	var objects []client.Object
	// One after another, samples come up in the order of their files.
	parallel := 1
	if d.options.machines == sampleMachines {
		d.screen.step("Creating what is in config/samples")
		var err error
		if objects, err = readSamples(filepath.Join(d.root, "config", "samples")); err != nil {
			return err
		}
	} else {
		d.screen.step(fmt.Sprintf("Creating %d Machines", d.options.machines))
		objects, parallel = generate(d.options.machines), 8
	}
	ctx, cancel := context.WithCancel(ctx)
	d.created = make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.created <- simulator.Create(ctx, d.client, parallel, objects...)
	}()
	d.later(func() error {
		cancel()
		<-ended
		return nil
	})
	return nil
}

func (d *demo) guide() {
	namespace := "default"
	example := d.machines.worker()
	d.screen.print(fmt.Sprintf(`
All %d Machines are Running. Look around from another terminal:

  export KUBECONFIG=%s
  kubectl get machines --namespace=%s
  kubectl describe machine %s
  kubectl delete machine %s --wait=false && kubectl get machines --watch

Without kubectl, go -C hack/controlplane run ./ensure -components=kubectl builds it and prints its folder.

Press Ctrl-C to end all of it and remove its files.
`, d.options.machines, d.environment.KubeconfigPath, namespace, example, example))
}

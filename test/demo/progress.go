// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	// refresh and countsRefresh bound how often the table and the progress line change.
	refresh       = 100 * time.Millisecond
	countsRefresh = time.Second
	// rowsInReport bounds the list of those that are not Running.
	rowsInReport = 20
)

// untilRunning shows the Machines until all are Running.
func (d *demo) untilRunning(ctx context.Context) error {
	begin := time.Now()
	if err := d.follow(ctx, func(rows []row) bool {
		return len(rows) == d.options.machines && running(rows) == len(rows)
	}); err != nil {
		return err
	}
	d.screen.step(fmt.Sprintf("All Machines are Running after %s", time.Since(begin).Round(time.Second)))
	return nil
}

var errTimeout = errors.New("timeout")

// follow shows the Machines as they change, until done says so, the timeout passes, or the manager ends.
func (d *demo) follow(ctx context.Context, done func([]row) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, errTimeout)
	defer cancel()
	interval := countsRefresh
	if d.options.machines == sampleMachines {
		interval = refresh
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-d.machines.changed:
			rows := d.machines.rows()
			d.show(rows)
			if done(rows) {
				return nil
			}
		case err := <-d.created:
			if err != nil {
				return err
			}
		case <-d.manager.exited:
			return d.manager.failure()
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimeout) {
				return d.report()
			}
			return ctx.Err()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

func (d *demo) show(rows []row) {
	if d.options.machines == sampleMachines {
		d.screen.table(rows)
	} else {
		d.screen.counts(rows, d.options.machines)
	}
}

// report is the error after a timeout: who is not Running, and why.
func (d *demo) report() error {
	rows := d.machines.rows()
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d Machines are Running after %s", running(rows), d.options.machines, d.timeout)
	listed := 0
	for _, r := range rows {
		if r.phase == string(clusterv1.MachinePhaseRunning) {
			continue
		}
		if listed == rowsInReport {
			text.WriteString("\n  …")
			break
		}
		listed++
		fmt.Fprintf(&text, "\n  %s is %s: %s", r.name, dash(r.phase), dash(r.waitsFor))
	}
	if tail, err := logTail(d.manager.logPath); err == nil {
		fmt.Fprintf(&text, "\nthe end of the manager's log:\n%s", tail)
	}
	return errors.New(text.String())
}

// deleteOne deletes a worker and sees it go, with everything that belongs to it.
func (d *demo) deleteOne(ctx context.Context) error {
	name := d.machines.worker()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	machine := &clusterv1.Machine{}
	if err := d.client.Get(ctx, key, machine); err != nil {
		return err
	}
	d.screen.step("Deleting Machine " + name)
	if err := d.client.Delete(ctx, machine); err != nil {
		return err
	}
	if err := d.follow(ctx, func(rows []row) bool { return len(rows) == d.options.machines-1 }); err != nil {
		return err
	}
	for _, kind := range []schema.GroupKind{simulator.SimMachine, simulator.SimConfig} {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
		if err := expectGone(d.client.Get(ctx, key, obj), kind.Kind, key); err != nil {
			return err
		}
	}
	clusterKey := types.NamespacedName{Namespace: namespace, Name: machine.Spec.ClusterName}
	cluster, found := d.simulator.Workload().Cluster(clusterKey)
	if !found {
		return fmt.Errorf("workload cluster %s is missing", clusterKey)
	}
	nodeKey := types.NamespacedName{Name: machine.Status.NodeRef.Name}
	if err := expectGone(cluster.Get(nodeKey, &corev1.Node{}), "Node", nodeKey); err != nil {
		return err
	}
	d.screen.step(fmt.Sprintf("Machine %s is gone, and so are its SimMachine, its SimConfig and its Node", name))
	return nil
}

func expectGone(err error, kind string, key client.ObjectKey) error {
	if err == nil {
		return fmt.Errorf("the Machine is gone, but its %s %s is not", kind, key)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

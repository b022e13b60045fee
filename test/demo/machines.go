// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// row is what is shown of a Machine.
type row struct {
	name, phase, node, providerID string
	// waitsFor is what keeps the Machine from being Running, or from going; empty if nothing does.
	waitsFor string
}

// machines follows all Machines.
type machines struct {
	stop func() error
	// changed has a value if something changed since it was last received.
	changed chan struct{}

	mu    sync.Mutex
	byKey map[types.NamespacedName]row
}

func watchMachines(ctx context.Context, config *rest.Config) (*machines, error) {
	objects := runtime.NewScheme()
	if err := clusterv1.AddToScheme(objects); err != nil {
		return nil, err
	}
	source, err := cache.New(config, cache.Options{Scheme: objects, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return nil, err
	}
	informer, err := source.GetInformer(ctx, &clusterv1.Machine{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	m := &machines{changed: make(chan struct{}, 1), byKey: map[types.NamespacedName]row{}}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    m.set,
		UpdateFunc: func(_, obj any) { m.set(obj) },
		DeleteFunc: m.delete,
	}); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- source.Start(running) }()
	m.stop = func() error {
		cancel()
		return <-ended
	}
	if !source.WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the Machines can't be watched"), m.stop())
	}
	return m, nil
}

func (m *machines) set(obj any) {
	machine, ok := obj.(*clusterv1.Machine)
	if !ok {
		return
	}
	m.mu.Lock()
	m.byKey[client.ObjectKeyFromObject(machine)] = rowOf(machine)
	m.mu.Unlock()
	m.notify()
}

func (m *machines) delete(obj any) {
	key, err := toolscache.DeletionHandlingObjectToName(obj)
	if err != nil {
		return
	}
	m.mu.Lock()
	delete(m.byKey, types.NamespacedName(key))
	m.mu.Unlock()
	m.notify()
}

func (m *machines) notify() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// rows returns what is known, by name.
func (m *machines) rows() []row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.byKey), func(a, b row) int { return cmp.Compare(a.name, b.name) })
}

// worker returns the name of a Machine that can be deleted without hurting a control plane, if there is one.
func (m *machines) worker() string {
	rows := m.rows()
	for _, r := range rows {
		if !strings.Contains(r.name, "control-plane") {
			return r.name
		}
	}
	return rows[0].name
}

func running(rows []row) (count int) {
	for _, r := range rows {
		if r.phase == string(clusterv1.MachinePhaseRunning) {
			count++
		}
	}
	return count
}

func rowOf(machine *clusterv1.Machine) row {
	return row{
		name:       machine.Name,
		phase:      machine.Status.Phase,
		node:       machine.Status.NodeRef.Name,
		providerID: machine.Spec.ProviderID,
		waitsFor:   waitsFor(machine),
	}
}

// steps are the conditions on the way to Running, in the order in which they become True.
var steps = []string{
	clusterv1.MachineBootstrapConfigReadyCondition,
	clusterv1.MachineInfrastructureReadyCondition,
	clusterv1.MachineNodeReadyCondition,
	clusterv1.MachineReadyCondition,
}

// waitsFor says what the conditions say about the next step.
func waitsFor(machine *clusterv1.Machine) string {
	conditions := machine.Status.Conditions
	if !machine.DeletionTimestamp.IsZero() {
		deleting := apimeta.FindStatusCondition(conditions, clusterv1.MachineDeletingCondition)
		if deleting == nil || deleting.Status != metav1.ConditionTrue {
			return ""
		}
		return describe(deleting)
	}
	for _, step := range steps {
		condition := apimeta.FindStatusCondition(conditions, step)
		if condition != nil && condition.Status != metav1.ConditionTrue {
			return describe(condition)
		}
	}
	return ""
}

// describe returns the message, which is made for people, on one line; if there is none the reason must do.
func describe(condition *metav1.Condition) string {
	if condition.Message == "" {
		return condition.Type + ": " + condition.Reason
	}
	return strings.Join(strings.Fields(condition.Message), " ")
}

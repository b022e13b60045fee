// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// follow calls see with every object of a kind, now and whenever it changes, one at a time, until stop is called. gone
// says that the object was deleted. It keeps in memory what trim leaves of an object.
func follow(ctx context.Context, config *rest.Config, kind client.Object, trim toolscache.TransformFunc,
	see func(object client.Object, gone bool)) (stop func(), err error) {
	objects, err := cache.New(config, cache.Options{Scheme: scheme(), DefaultTransform: trim})
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = objects.Start(running) // it has no other error than that it was started twice
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})

	informer, err := objects.GetInformer(ctx, kind)
	if err != nil {
		stop()
		return nil, err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { see(object.(client.Object), false) },
		UpdateFunc: func(_, object any) { see(object.(client.Object), false) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			see(object.(client.Object), true)
		},
	})
	if err != nil {
		stop()
		return nil, err
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		stop()
		return nil, errors.Join(errors.New("the objects could not be listed in time"), context.Cause(ctx))
	}
	return stop, nil
}

// machines knows of each Machine what we wait for.
type machines struct {
	sightings sightings
	stop      func()

	mu      sync.Mutex
	present map[types.NamespacedName]bool
	// running is when a Machine was first seen Running.
	running map[types.NamespacedName]time.Time
}

func followMachines(ctx context.Context, config *rest.Config) (*machines, error) {
	m := &machines{present: map[types.NamespacedName]bool{}, running: map[types.NamespacedName]time.Time{}}
	var err error
	if m.stop, err = follow(ctx, config, &clusterv1.Machine{}, trimMachine, m.see); err != nil {
		return nil, fmt.Errorf("watching Machines: %w", err)
	}
	return m, nil
}

// trimMachine keeps what is looked at here and in the phases.
func trimMachine(object any) (any, error) {
	machine, ok := object.(*clusterv1.Machine)
	if !ok {
		return object, nil
	}
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: machine.Namespace, Name: machine.Name, UID: machine.UID, ResourceVersion: machine.ResourceVersion,
		},
		Status: clusterv1.MachineStatus{Phase: machine.Status.Phase, Addresses: machine.Status.Addresses},
	}, nil
}

func (m *machines) see(object client.Object, gone bool) {
	now := time.Now()
	machine := object.(*clusterv1.Machine)
	key := client.ObjectKeyFromObject(machine)
	m.mu.Lock()
	if gone {
		delete(m.present, key)
	} else {
		m.present[key] = true
	}
	if _, known := m.running[key]; !known && machine.Status.GetTypedPhase() == clusterv1.MachinePhaseRunning {
		m.running[key] = now
	}
	m.mu.Unlock()
	m.sightings.seen(object, now)
}

// counts returns how many Machines there are, and how many have been Running.
func (m *machines) counts() (present, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.present), len(m.running)
}

// runningSince returns when a Machine was first seen Running, the zero time if it never was.
func (m *machines) runningSince(key types.NamespacedName) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running[key]
}

// sightings tells when an object was seen as somebody expects it.
type sightings struct {
	mu       sync.Mutex
	expected map[types.NamespacedName]expectation
}

type expectation struct {
	match func(client.Object) bool
	at    chan time.Time
}

// expect returns a channel that gets the moment at which the object named key is next seen such that match is true.
func (s *sightings) expect(key types.NamespacedName, match func(client.Object) bool) <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expected == nil {
		s.expected = map[types.NamespacedName]expectation{}
	}
	at := make(chan time.Time, 1)
	s.expected[key] = expectation{match: match, at: at}
	return at
}

func (s *sightings) seen(object client.Object, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	if expected, found := s.expected[key]; found && expected.match(object) {
		delete(s.expected, key)
		expected.at <- now
	}
}

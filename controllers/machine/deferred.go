// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// statusDelay is how long the status of a Machine on its way to Running may be older than what is known.
const statusDelay = time.Second

// deferredStatus spares writes while a Machine is provisioned. Its objects change many times within a moment then, and
// each status but the last would be overwritten by the next, a write for the API server and an event for everybody who
// watches Machines. So a changed status is written when it has been waiting for statusDelay, by the reconcile that is
// asked for here. Spec is never deferred, so nothing that others wait for comes later; and a Machine that is Running,
// being deleted, or has run into a problem, says so at once.
//
// Its zero value is ready to use; it is safe for concurrent use.
type deferredStatus struct {
	mu   sync.Mutex
	byID map[types.UID]deferral
}

// deferral is what is remembered of a status that was not written yet.
type deferral struct {
	since time.Time
	// initialization holds flags that go up once and never come down, whatever the objects report in the meantime.
	initialization clusterv1.MachineInitializationStatus
}

// restore gives the scope's Machine the flags of the status that was not written yet.
func (d *deferredStatus) restore(s *scope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, ok := d.byID[s.machine.UID]
	if !ok {
		return
	}
	flags := &s.machine.Status.Initialization
	if isTrue(before.initialization.BootstrapDataSecretCreated) {
		flags.BootstrapDataSecretCreated = new(true)
	}
	if isTrue(before.initialization.InfrastructureProvisioned) {
		flags.InfrastructureProvisioned = new(true)
	}
}

// wait returns how long the status of the scope's Machine should wait before it is written; 0 means not at all.
func (d *deferredStatus) wait(s *scope) time.Duration {
	if !deferrable(s) {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byID == nil {
		d.byID = map[types.UID]deferral{}
	}
	deferred, ok := d.byID[s.machine.UID]
	if !ok {
		deferred.since = s.now
	}
	deferred.initialization = s.machine.Status.Initialization
	d.byID[s.machine.UID] = deferred
	return statusDelay - s.now.Sub(deferred.since)
}

// forget ends the wait of a Machine whose status was written, or that is gone.
func (d *deferredStatus) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.byID, uid)
}

func deferrable(s *scope) bool {
	return !s.isDeleting() && !s.machine.Status.NodeRef.IsDefined() &&
		s.machine.Status.Phase != string(clusterv1.MachinePhaseUpdating) &&
		s.bootstrap.problem == nil && s.infra.problem == nil &&
		!apiequality.Semantic.DeepEqual(s.stored.Status, s.machine.Status)
}

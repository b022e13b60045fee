// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	// statusPause is how long the status of a Machine on its way to Running must have stayed the same to be written.
	statusPause = 2 * time.Second
	// statusDelay is how long a status that goes on changing waits.
	statusDelay = 10 * time.Second
	// statusPatience is how long a status lets other Machines go first.
	statusPatience = 30 * time.Second
)

// deferredStatus spares writes while a Machine is provisioned. Its objects change many times within a moment then, and
// each status but the last would be overwritten by the next, a write for the API server and an event for everybody who
// watches Machines. So a status is written when nothing has changed it for statusPause, or when it has waited for
// statusDelay, by the reconcile that is asked for here. That one has a low priority: as long as other Machines have
// something to do, they come first, until the status has waited for statusPatience. Spec is never deferred, so nothing that
// others wait for comes later; and a Machine that is Running, being deleted, or has run into a problem, says so at once.
//
// Its zero value is ready to use; it is safe for concurrent use.
type deferredStatus struct {
	mu   sync.Mutex
	byID map[types.UID]deferral
}

// deferral is what is remembered of a status that was not written yet.
type deferral struct {
	machine types.NamespacedName
	// since is when the first status was held back, and changed when it last became another one.
	since, changed time.Time
	status         clusterv1.MachineStatus
}

// restore gives the scope's Machine the flags of the status that was not written yet: they go up once and never come down,
// whatever the objects report in the meantime.
func (d *deferredStatus) restore(s *scope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, ok := d.byID[s.machine.UID]
	if !ok {
		return
	}
	flags := &s.machine.Status.Initialization
	if isTrue(before.status.Initialization.BootstrapDataSecretCreated) {
		flags.BootstrapDataSecretCreated = new(true)
	}
	if isTrue(before.status.Initialization.InfrastructureProvisioned) {
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
	before, ok := d.byID[s.machine.UID]
	now := deferral{machine: client.ObjectKeyFromObject(s.machine), since: before.since, changed: before.changed, status: s.machine.Status}
	if !ok {
		now.since = s.now
	}
	if !ok || !sameFacts(&before.status, &now.status) {
		now.changed = s.now
	}
	d.byID[s.machine.UID] = now
	return min(statusPause-s.now.Sub(now.changed), statusDelay-s.now.Sub(now.since))
}

// overdue returns the Machines whose status has waited for more than statusPatience.
func (d *deferredStatus) overdue(now time.Time) []types.NamespacedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	var machines []types.NamespacedName
	for _, waiting := range d.byID {
		if now.Sub(waiting.since) > statusPatience {
			machines = append(machines, waiting.machine)
		}
	}
	return machines
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

// sameFacts compares two statuses without the times at which conditions changed: those of a status that was not written are
// made anew each time.
func sameFacts(a, b *clusterv1.MachineStatus) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, status := range []*clusterv1.MachineStatus{a, b} {
		status.LastUpdated = metav1.Time{}
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		if status.Deprecated != nil && status.Deprecated.V1Beta1 != nil {
			for i := range status.Deprecated.V1Beta1.Conditions {
				status.Deprecated.V1Beta1.Conditions[i].LastTransitionTime = metav1.Time{}
			}
		}
	}
	return apiequality.Semantic.DeepEqual(a, b)
}

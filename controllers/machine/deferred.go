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
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// wait returns how long the status of the scope's Machine should wait before it is written; 0 means not at all.
func (d *deferredStatus) wait(s *scope) time.Duration {
	if !deferrable(s) {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	since, ok := d.since[s.machine.UID]
	if !ok {
		if d.since == nil {
			d.since = map[types.UID]time.Time{}
		}
		since = s.now
		d.since[s.machine.UID] = since
	}
	return statusDelay - s.now.Sub(since)
}

// forget ends the wait of a Machine whose status was written, or that is gone.
func (d *deferredStatus) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, uid)
}

func deferrable(s *scope) bool {
	return !s.isDeleting() && !s.machine.Status.NodeRef.IsDefined() &&
		s.machine.Status.Phase != string(clusterv1.MachinePhaseUpdating) &&
		s.bootstrap.problem == nil && s.infra.problem == nil &&
		!apiequality.Semantic.DeepEqual(s.stored.Status, s.machine.Status)
}

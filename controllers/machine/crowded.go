// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// crowdedOut remembers which conditions of ours a Machine has no room for, so that it is said once. Its zero value is ready to
// use; it is safe for concurrent use. Machines that have room take no memory.
type crowdedOut struct {
	mu   sync.Mutex
	byID map[types.UID]string
}

// isNews remembers what is left out, and reports whether that is something, and not the same as before.
func (c *crowdedOut) isNews(machine types.UID, leftOut string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if leftOut == "" {
		delete(c.byID, machine)
		return false
	}
	if c.byID == nil {
		c.byID = map[types.UID]string{}
	}
	news := c.byID[machine] != leftOut
	c.byID[machine] = leftOut
	return news
}

// forget drops what is remembered of a Machine that is gone.
func (c *crowdedOut) forget(machine types.UID) { c.isNews(machine, "") }

// warnOfCrowd sends an event when there has become no room for conditions of ours.
func (r *Reconciler) warnOfCrowd(s *scope) {
	leftOut := strings.Join(s.leftOut, ", ")
	if r.crowded.isNews(s.machine.UID, leftOut) {
		s.warning("TooManyConditions", "Report", fmt.Sprintf("Other controllers have set so many conditions that there is no room for %s: a Machine can have 32", leftOut))
	}
}

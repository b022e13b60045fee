// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/ownwrites"
)

// kindWatch keeps one kind readable. Its follower is the only one that starts, swaps and stops informers; readers take
// the published state without waiting.
type kindWatch struct {
	tracker *Tracker
	kind    Kind
	crdName string
	// wakeup has room for one signal: several changes of a CRD are looked at once.
	wakeup chan struct{}
	cancel context.CancelFunc
	state  atomic.Pointer[kindState]
	counts counts

	// writes holds objects as our own patches left them, until the informer has caught up.
	writes ownwrites.Memory[*packed]

	mu sync.Mutex
	// refused holds patches that were refused because the object had changed, by UID, until the informer has the change.
	refused map[types.UID]refusal
	// deleted holds the UIDs that we asked the API server to delete, until the informer has seen it.
	deleted map[types.UID]struct{}
}

// kindState is what readers see, published whole: informer, API version and contract version always belong together.
type kindState struct {
	// serving is the informer that answers reads and notifies; nil if there is none.
	serving    *informer
	resolution contract.Resolution
	// problem is why reads are not answered; nil if they are.
	problem *KindError
}

func newKindWatch(tracker *Tracker, kind Kind) *kindWatch {
	w := &kindWatch{
		tracker: tracker,
		kind:    kind,
		crdName: contract.CRDName(kind.Group, kind.Kind),
		wakeup:  make(chan struct{}, 1),
		refused: map[types.UID]refusal{},
		deleted: map[types.UID]struct{}{},
	}
	w.state.Store(&kindState{problem: w.pending()})
	return w
}

// wake makes the follower look at the CRD.
func (w *kindWatch) wake() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

// pending is the problem of a kind whose first list is under way.
func (w *kindWatch) pending() *KindError {
	problem := w.problem(NotSynced, "Waiting for the first list of %s", w.kind.GroupKind)
	problem.pending = true
	return problem
}

func (w *kindWatch) problem(reason KindProblem, format string, args ...any) *KindError {
	return newKindError(w.kind, reason, format, args...)
}

// get answers from the store of the serving informer, or from our own last write if the informer is behind it.
func (w *kindWatch) get(key types.NamespacedName) (*Object, error) {
	state := w.state.Load()
	if state.problem != nil {
		return nil, state.problem
	}
	resource := resourceOf(w.kind, w.crdName, state.resolution)
	item, exists, err := state.serving.shared.GetStore().GetByKey(key.String())
	if err != nil {
		return nil, fmt.Errorf("reading %s %s from the cache: %w", w.kind.Kind, key, err)
	}
	if !exists {
		return nil, apierrors.NewNotFound(resource.GroupResource(), key.Name)
	}
	stored, ok := item.(*packed)
	if !ok {
		return nil, fmt.Errorf("reading %s %s from the cache: found a %T", w.kind.Kind, key, item)
	}
	known := w.known(stored)
	if known != stored {
		w.counts.ownReads.Add(1)
	}
	raw, err := known.unpack()
	if err != nil {
		return nil, err
	}
	return &Object{kind: w.kind, resource: resource, contract: state.resolution.ContractVersion, raw: raw}, nil
}

func resourceOf(kind Kind, crdName string, resolution contract.Resolution) schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group:    kind.Group,
		Version:  resolution.APIVersion,
		Resource: crdName[:len(crdName)-len(kind.Group)-1],
	}
}

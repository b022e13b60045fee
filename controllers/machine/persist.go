// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/watchcache"
)

var (
	// errStale says that somebody changed the Machine while we worked on it. Our own write has told us how it is now.
	errStale = errors.New("the Machine has changed since it was read")
	// errBehind says that the cache is behind the API server, and that an event is on its way that will say how things are.
	errBehind = errors.New("the cache is behind the API server")
)

// persist writes what the phases changed: metadata and spec, then the status, then the events. complete says that no
// phase failed, so that the status may claim to have observed the Machine's generation.
func (r *Reconciler) persist(ctx context.Context, s *scope, complete bool) error {
	refusal := r.writeMachine(ctx, s)
	switch {
	case apierrors.IsInvalid(refusal), apierrors.IsForbidden(refusal), apierrors.IsBadRequest(refusal):
		// Nobody but the status can tell that the Machine stands still because of it.
		currentStatus := s.machine.Status
		s.machine = s.stored.DeepCopy()
		s.machine.Status = currentStatus
		s.infra.problem, complete = refusal, false
	case refusal != nil:
		return refusal
	}
	if isGone(s.stored) {
		r.gone.add(s.machine.UID, itself)
		r.sendEvents(s)
		return nil
	}
	if s.bootstrap.behind || s.infra.behind {
		return nil // what could be said about the object is about to change
	}
	computeStatus(s, r.RemoteConditionsGracePeriod)
	if complete {
		s.machine.Status.ObservedGeneration = s.machine.Generation
	}
	if wait := r.deferred.wait(s); wait > 0 {
		s.statusDue = wait
		return nil
	}
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	r.deferred.forget(s.machine.UID)
	r.warnOfCrowd(s)
	r.sendEvents(s)
	if s.writeFirst && !isGone(s.stored) {
		s.wakeAfter(afterWrite)
	}
	return refusal
}

// persistPaused says that the Machine is paused. All else that a paused Machine gets is its finalizer, so that it can't
// vanish before somebody has looked after its objects.
func (r *Reconciler) persistPaused(ctx context.Context, s *scope, reason string) error {
	if !s.isDeleting() {
		controllerutil.AddFinalizer(s.machine, clusterv1.MachineFinalizer)
	}
	if err := r.writeMachine(ctx, s); err != nil {
		return err
	}
	r.deferred.forget(s.machine.UID) // what was not written yet is written when the pause ends
	setPaused(s, reason)
	makeRoom(s)
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	r.warnOfCrowd(s)
	r.sendEvents(s)
	return nil
}

// writeMachine patches metadata and spec, if they differ from what the API server has. The patch holds only what we
// changed; where it replaces a list it also holds the resourceVersion, so that an entry that somebody else has added
// meanwhile makes it fail instead of being lost.
func (r *Reconciler) writeMachine(ctx context.Context, s *scope) error {
	if apiequality.Semantic.DeepEqual(s.stored.ObjectMeta, s.machine.ObjectMeta) && apiequality.Semantic.DeepEqual(s.stored.Spec, s.machine.Spec) {
		return nil
	}
	specChanged := !apiequality.Semantic.DeepEqual(s.stored.Spec, s.machine.Spec)
	listChanged := !apiequality.Semantic.DeepEqual(s.stored.Finalizers, s.machine.Finalizers) ||
		!apiequality.Semantic.DeepEqual(s.stored.OwnerReferences, s.machine.OwnerReferences)
	target := s.machine.DeepCopy()
	target.Status = s.stored.Status
	written, err := patch(ctx, r.Client, s.stored, target, listChanged)
	if err != nil {
		return patchFailed("patching Machine", s, err)
	}
	r.remember(s, written, s.stored.Status)
	generation := s.stored.Generation
	if specChanged {
		generation++
	}
	if written.Generation > generation || !apiequality.Semantic.DeepEqual(written.Status, s.stored.Status) {
		return errStale // what the phases have found out is about another spec or status than this
	}
	status := s.machine.Status
	s.stored = written
	s.machine = written.DeepCopy()
	s.machine.Status = status
	return nil
}

// writeStatus patches the status, if it differs from what the API server has. A list of conditions is replaced whole by
// a merge patch, so the patch holds the resourceVersion when it has one: conditions of other writers are never lost.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) error {
	if apiequality.Semantic.DeepEqual(s.stored.Status, s.machine.Status) {
		return nil
	}
	conditionsChanged := !apiequality.Semantic.DeepEqual(s.stored.Status.Conditions, s.machine.Status.Conditions) ||
		!apiequality.Semantic.DeepEqual(s.stored.GetV1Beta1Conditions(), s.machine.GetV1Beta1Conditions())
	written, err := patch(ctx, statusWriter{r.Client.Status()}, s.stored, s.machine, conditionsChanged)
	if err != nil {
		return patchFailed("patching the status of Machine", s, err)
	}
	r.remember(s, written, s.machine.Status)
	return nil
}

// patchFailed takes in that a patch has failed, and returns what is left of its error. One of an object that has changed, or
// has gone, says nothing but that the cache is behind; and that a Machine which is being deleted has gone is no error.
func patchFailed(what string, s *scope, err error) error {
	if apierrors.IsNotFound(err) && s.isDeleting() {
		s.stored.Finalizers = nil
		return nil
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = errors.Join(errBehind, err)
	}
	return fmt.Errorf("%s %s: %w", what, client.ObjectKeyFromObject(s.machine), err)
}

// remember records that a patch of the scope's Machine has succeeded. If the answer holds somebody else's change, too,
// which a patch without resourceVersion lets happen, the way from the version before is not ours alone.
func (r *Reconciler) remember(s *scope, written *clusterv1.Machine, status clusterv1.MachineStatus) {
	from := s.stored.ResourceVersion
	if !sameMetadata(s.machine, written) || !apiequality.Semantic.DeepEqual(s.machine.Spec, written.Spec) || !apiequality.Semantic.DeepEqual(status, written.Status) {
		from = ""
	}
	r.writes.Record(written.UID, from, written.ResourceVersion, written)
}

// sameMetadata compares what people and controllers write, and what decides on what we do.
func sameMetadata(a, b *clusterv1.Machine) bool {
	return a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.Finalizers, b.Finalizers) &&
		apiequality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}

// patcher is the part of a client that patch needs, for the Machine itself or for its status.
type patcher interface {
	Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error
}

type statusWriter struct{ client.SubResourceWriter }

// Patch patches the status.
func (w statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return w.SubResourceWriter.Patch(ctx, object, patch)
}

// patch sends what differs between the two as a merge patch, and returns the Machine as the API server has it then,
// trimmed as in the cache. The answer is decoded into an object of its own: decoding into one that has values would reuse
// its lists, which others share, and keep what the API server doesn't have any more.
//
// The patch holds the UID, so that it can't hit a Machine that was created since under the same name.
func patch(ctx context.Context, to patcher, from, target *clusterv1.Machine, lock bool) (*clusterv1.Machine, error) {
	base := *from
	base.UID = "" // what differs is sent
	merge := client.MergeFrom(&base)
	if lock {
		merge = client.MergeFromWithOptions(&base, client.MergeFromWithOptimisticLock{})
	}
	data, err := merge.Data(target)
	if err != nil {
		return nil, fmt.Errorf("building the patch: %w", err)
	}
	written := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	if err := to.Patch(ctx, written, client.RawPatch(types.MergePatchType, data)); err != nil {
		return nil, err
	}
	watchcache.TrimMetadata(written)
	return written, nil
}

// maxNote is the number of bytes that the API server accepts as the note of an event.
const maxNote = 1024

// shorten cuts a note that the API server would refuse. A character that is cut in two is left out.
func shorten(note string) string {
	if len(note) <= maxNote {
		return note
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(note[:maxNote-len(ellipsis)], "") + ellipsis
}

func (r *Reconciler) sendEvents(s *scope) {
	for _, e := range s.events {
		r.send(s, e)
	}
}

// send sends an event at once. That is for those which speak of something that is done and won't be found again, whatever
// becomes of the status.
func (r *Reconciler) send(s *scope, e eventNote) {
	eventType := corev1.EventTypeNormal
	if e.warning {
		eventType = corev1.EventTypeWarning
	}
	r.Recorder.Eventf(s.machine, nil, eventType, e.reason, e.action, "%s", shorten(e.note))
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Volumes looks for volumes that are still attached to the Node. Those of Pods that a drain leaves alone don't count, as
// they stay until the machine is gone; neither do those of a Node that does not exist, or whose kubelet is lost, as
// nobody would detach them. The error says which Node and what failed.
func (d *Drainer) Volumes(ctx context.Context, subject Subject) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	left, err := d.volumes(ctx, subject)
	if err != nil {
		return Result{}, fmt.Errorf("failed to look for volumes attached to Node %s: %w", subject.nodeName(), err)
	}
	step := volumesStep(subject.Machine)
	return step.result(left.message(step.since(subject.Now)), subject.Now), nil
}

func (d *Drainer) volumes(ctx context.Context, subject Subject) (leftVolumes, error) {
	node, err := d.node(ctx, subject.nodeName())
	if err != nil || node == nil || unreachable(node) {
		return leftVolumes{}, err
	}
	attached, err := d.attachedTo(ctx, node)
	if err != nil || attached.none() {
		return leftVolumes{}, err
	}
	pods, err := d.judgedPods(ctx, subject, 0)
	if err != nil {
		return leftVolumes{}, err
	}
	var volumes []corev1.PersistentVolume
	err = eachPage(ctx, d.Client, func(page *corev1.PersistentVolumeList) {
		volumes = slices.AppendSeq(volumes, attached.among(page.Items))
	})
	if err != nil {
		return leftVolumes{}, fmt.Errorf("failed to list PersistentVolumes: %w", err)
	}
	return attached.left(volumes, skippedClaims(pods)), nil
}

// attachments are the volumes of a Node, as two parties tell: the kubelet, and the controller that attaches.
type attachments struct {
	// byNode are entries of status.volumesAttached of the Node.
	byNode map[string]bool
	// byAttachment are names of PersistentVolumes that a VolumeAttachment says are attached.
	byAttachment map[string]bool
}

func (a attachments) none() bool { return len(a.byNode)+len(a.byAttachment) == 0 }

func (d *Drainer) attachedTo(ctx context.Context, node *corev1.Node) (attachments, error) {
	a := attachments{byNode: map[string]bool{}, byAttachment: map[string]bool{}}
	for _, volume := range node.Status.VolumesAttached {
		a.byNode[string(volume.Name)] = true
	}
	var inline string
	err := eachPage(ctx, d.Client, func(page *storagev1.VolumeAttachmentList) {
		for _, attachment := range page.Items {
			if !attachment.Status.Attached || attachment.Spec.NodeName != node.Name {
				continue
			}
			if volume := attachment.Spec.Source.PersistentVolumeName; volume != nil {
				a.byAttachment[*volume] = true
			} else {
				inline = attachment.Name
			}
		}
	})
	if err != nil {
		return a, fmt.Errorf("failed to list VolumeAttachments: %w", err)
	}
	if inline != "" {
		return a, fmt.Errorf("spec.source.persistentVolumeName for VolumeAttachment %s is not set", inline)
	}
	return a, nil
}

// among yields the volumes that are attached.
func (a attachments) among(volumes []corev1.PersistentVolume) func(yield func(corev1.PersistentVolume) bool) {
	return func(yield func(corev1.PersistentVolume) bool) {
		for i := range volumes {
			if (a.byNode[nodeEntry(&volumes[i])] || a.byAttachment[volumes[i].Name]) && !yield(volumes[i]) {
				return
			}
		}
	}
}

// nodeEntry is how a kubelet calls the volume of a CSI driver; empty for other volumes, whose entries nobody can match.
func nodeEntry(volume *corev1.PersistentVolume) string {
	csi := volume.Spec.CSI
	if csi == nil {
		return ""
	}
	return "kubernetes.io/csi/" + csi.Driver + "^" + csi.VolumeHandle
}

// left sorts what is attached by what is known about it. The volumes are all that are attached and exist.
func (a attachments) left(volumes []corev1.PersistentVolume, ignored map[types.NamespacedName]bool) leftVolumes {
	byNode, byAttachment := maps.Clone(a.byNode), maps.Clone(a.byAttachment)
	var l leftVolumes
	for i := range volumes {
		volume := &volumes[i]
		delete(byNode, nodeEntry(volume))
		delete(byAttachment, volume.Name)
		claim, ok := claimOf(volume)
		switch {
		case !ok:
			l.unclaimed = append(l.unclaimed, volume.Name)
		case !ignored[claim]:
			l.claims = append(l.claims, claim.String())
		}
	}
	l.entries = slices.Collect(maps.Keys(byNode))
	l.unknown = slices.Collect(maps.Keys(byAttachment))
	return l
}

func claimOf(volume *corev1.PersistentVolume) (types.NamespacedName, bool) {
	ref := volume.Spec.ClaimRef
	if ref == nil || ref.Kind != "PersistentVolumeClaim" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, true
}

// skippedClaims are the claims of the Pods that a drain leaves where they are.
func skippedClaims(pods []judged) map[types.NamespacedName]bool {
	claims := map[types.NamespacedName]bool{}
	for _, pod := range pods {
		if pod.behavior != skipIt {
			continue
		}
		for i := range pod.Spec.Volumes {
			if claim := claimUsedBy(pod.Pod, &pod.Spec.Volumes[i]); claim != "" {
				claims[types.NamespacedName{Namespace: pod.Namespace, Name: claim}] = true
			}
		}
	}
	return claims
}

// claimUsedBy is empty for a volume of another sort. An ephemeral volume has a claim whose name Kubernetes makes from that
// of the Pod; Cluster API doesn't look for it, and waits for ever for what a DaemonSet keeps on the Node in this way.
func claimUsedBy(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	default:
		return ""
	}
}

// leftVolumes are those that have to be detached, by the name that tells most.
type leftVolumes struct {
	claims []string
	// unclaimed are PersistentVolumes without a claim.
	unclaimed []string
	// entries are of the Node, unknown of VolumeAttachments; there is no PersistentVolume for them.
	entries []string
	unknown []string
}

// message is empty if nothing is left.
func (l *leftVolumes) message(started time.Time) string {
	lines := []string{volumesHeading(started)}
	for _, list := range []struct {
		title string
		names []string
	}{
		{"PersistentVolumeClaims", l.claims},
		{"PersistentVolumes without a .spec.claimRef to a PersistentVolumeClaim", l.unclaimed},
		{"Node with .status.volumesAttached entries not matching a PersistentVolume", l.entries},
		{"VolumeAttachment with .spec.source.persistentVolumeName not matching a PersistentVolume", l.unknown},
	} {
		if len(list.names) > 0 {
			lines = append(lines, fmt.Sprintf("* %s: %s", list.title, listing(slices.Sorted(slices.Values(list.names)), maxVolumeNames)))
		}
	}
	if len(lines) == 1 {
		return ""
	}
	return strings.Join(lines, "\n")
}

// volumesHeading is the first line of the message about attached volumes, and all of it until something else is known.
func volumesHeading(started time.Time) string {
	return fmt.Sprintf("Waiting for Node volumes to be detached (started at %s)", started.UTC().Format(time.RFC3339))
}

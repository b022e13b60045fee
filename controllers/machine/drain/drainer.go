// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	// RetryInterval is when to look again while something is left. Until then nothing else should make the caller do so
	// either: every look is a list of Pods, and an eviction of each that is still there.
	RetryInterval = 20 * time.Second
	// readTimeout bounds all reads of one call, and the cordon, so that a cluster that answers slowly or not at all
	// doesn't hold up the others.
	readTimeout = 10 * time.Second
	// evictionTimeout bounds all evictions of one call. It is Cluster API's, and part of a message.
	evictionTimeout = 10 * time.Second
	// goneGracePeriod is what Pods get on a Node whose kubelet is lost, and how long they are waited for after it: the
	// Pods don't run any more, or nobody can tell, and only the kubelet would remove them.
	goneGracePeriod = time.Second
)

// Drainer drains the Nodes of one workload cluster. It holds nothing and may be made for each call. Its methods return
// within about 20 seconds, and usually after a few requests.
type Drainer struct {
	// Rules reads MachineDrainRules; it may be a cache.
	Rules client.Reader
	// Client is for the workload cluster. Its reads must be answered by the API server and not by a cache.
	Client client.Client
	// CoreV1 is for evictions in the same cluster: a client of its API group core/v1.
	CoreV1 rest.Interface
}

// Subject is the Machine whose Node is drained.
type Subject struct {
	// Machine has status.nodeRef set, and in status.deletion the time at which the step began.
	Machine *clusterv1.Machine
	// Cluster is the Machine's, for the rules that select by its labels. May be nil.
	Cluster *clusterv1.Cluster
	// Now is the time of the reconcile.
	Now time.Time
}

// Result is how far a step of the deletion has come.
type Result struct {
	// Message says what is left, and why, for the condition Deleting of the Machine. Empty if the step is done.
	Message string
	// RetryAfter is when to look again if the step is not done: RetryInterval, or less if the step's timeout ends before.
	RetryAfter time.Duration
}

// Drain cordons the Node and evicts the Pods whose turn it is. A Node that does not exist is drained. The error says
// which Node, and what could not be read, decided or written; no Pod has been evicted then, so it has to be tried again.
// That a Pod could not be evicted is not an error but part of the Result.
func (d *Drainer) Drain(ctx context.Context, subject Subject) (Result, error) {
	left, err := d.drain(ctx, subject)
	if err != nil {
		return Result{}, fmt.Errorf("failed to drain Node %s: %w", subject.nodeName(), err)
	}
	step := drainStep(subject.Machine)
	return step.result(left.message(step.since(subject.Now)), subject.Now), nil
}

func (d *Drainer) drain(ctx context.Context, subject Subject) (*progress, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	node, err := d.node(reading, subject.nodeName())
	if err != nil {
		return nil, err
	}
	if node == nil {
		return &progress{}, nil
	}
	if err := d.cordon(reading, node); err != nil {
		return nil, err
	}
	var patience time.Duration
	if unreachable(node) {
		patience = goneGracePeriod
	}
	pods, err := d.judgedPods(reading, subject, patience)
	if err != nil {
		return nil, err
	}
	return d.carryOut(ctx, newPlan(pods), patience), nil
}

// carryOut evicts those whose turn it is, and returns what is left.
func (d *Drainer) carryOut(ctx context.Context, p plan, gracePeriod time.Duration) *progress {
	evicted, failed := d.evict(ctx, p.evict, gracePeriod)
	return &progress{
		terminating: slices.Concat(fullNames(p.terminating), evicted),
		failed:      failed,
		wait:        fullNames(p.wait),
		evictLater:  fullNames(p.evictLater),
		waitLater:   fullNames(p.waitLater),
	}
}

// cordon keeps new Pods off the Node. It writes only if that is news.
func (d *Drainer) cordon(ctx context.Context, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	before := node.DeepCopy()
	node.Spec.Unschedulable = true
	if err := d.Client.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("failed to cordon the Node: %w", err)
	}
	return nil
}

// unreachable reports whether the control plane has not heard from the kubelet for some time.
func unreachable(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
	})
}

func (s Subject) nodeName() string { return s.Machine.Status.NodeRef.Name }

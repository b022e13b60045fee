// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// clusters does what surrounds the Machines of a Cluster: it plays the Cluster controller, the InfraCluster's provider
// and the control plane.
type clusters struct {
	*Simulator

	mu       sync.Mutex
	memories map[types.NamespacedName]*clusterMemory
	// joined wakes the controller when a Cluster has its first control plane Node.
	joined chan event.TypedGenericEvent[*clusterv1.Cluster]
}

// clusterMemory is what the simulator knows about one Cluster and can't read from the cache.
type clusterMemory struct {
	uid             types.UID
	provisionAt     time.Time
	hasKubeconfig   bool
	hasControlPlane bool
}

// remember changes and returns what is known of a Cluster.
func (c *clusters) remember(cluster *clusterv1.Cluster, change func(*clusterMemory)) clusterMemory {
	key := client.ObjectKeyFromObject(cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	memory := c.memories[key]
	if memory == nil || memory.uid != cluster.UID {
		delay := chance{c.options.Seed}.jitter(c.options.ClusterDelay, c.options.Jitter, key, "cluster")
		memory = &clusterMemory{uid: cluster.UID, provisionAt: time.Now().Add(delay)}
		c.memories[key] = memory
	}
	change(memory)
	return *memory
}

func (c *clusters) forget(key types.NamespacedName) {
	c.mu.Lock()
	delete(c.memories, key)
	c.mu.Unlock()
	c.workload.RemoveCluster(key)
}

// controlPlaneJoined says that a control plane Machine of the Cluster has become a Node.
func (c *clusters) controlPlaneJoined(ctx context.Context, cluster *clusterv1.Cluster) error {
	known := true
	c.remember(cluster, func(m *clusterMemory) { known, m.hasControlPlane = m.hasControlPlane, true })
	if known {
		return nil
	}
	select {
	case c.joined <- event.TypedGenericEvent[*clusterv1.Cluster]{Object: cluster}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reconcile implements reconcile.Reconciler.
func (c *clusters) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	cluster := &clusterv1.Cluster{}
	if err := c.client.Get(ctx, request.NamespacedName, cluster); err != nil {
		if client.IgnoreNotFound(err) == nil {
			c.forget(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cluster.DeletionTimestamp.IsZero() {
		if c.options.NoClusterStatus {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, c.delete(ctx, cluster)
	}
	if isPaused(cluster) {
		return ctrl.Result{}, nil
	}
	if err := c.prepare(ctx, cluster); err != nil {
		return ctrl.Result{}, err
	}
	if c.options.NoClusterStatus {
		return ctrl.Result{}, nil
	}
	memory := c.remember(cluster, func(*clusterMemory) {})
	remaining := time.Until(memory.provisionAt)
	if isTrue(cluster.Status.Initialization.InfrastructureProvisioned) {
		remaining = 0
	}
	if err := c.writeStatus(ctx, cluster, remaining <= 0, memory.hasControlPlane); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: max(remaining, 0)}, nil
}

// prepare makes the workload cluster, and writes how to reach it.
func (c *clusters) prepare(ctx context.Context, cluster *clusterv1.Cluster) error {
	key := client.ObjectKeyFromObject(cluster)
	workloadCluster, err := c.workload.AddCluster(key)
	if err != nil {
		return err
	}
	before := cluster.DeepCopy()
	if !slices.Contains(cluster.Finalizers, clusterv1.ClusterFinalizer) {
		cluster.Finalizers = append(cluster.Finalizers, clusterv1.ClusterFinalizer)
	}
	if !cluster.Spec.ControlPlaneEndpoint.IsValid() {
		endpoint, err := endpointOf(workloadCluster.URL())
		if err != nil {
			return err
		}
		cluster.Spec.ControlPlaneEndpoint = endpoint
	}
	if !equality.Semantic.DeepEqual(before, cluster) {
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := c.client.Patch(ctx, cluster, patch); err != nil {
			return err
		}
	}
	if c.remember(cluster, func(*clusterMemory) {}).hasKubeconfig {
		return nil
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	if err := workloadCluster.Create(namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := c.applyKubeconfig(ctx, cluster); err != nil {
		return err
	}
	c.remember(cluster, func(m *clusterMemory) { m.hasKubeconfig = true })
	return nil
}

func endpointOf(address string) (clusterv1.APIEndpoint, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return clusterv1.APIEndpoint{}, err
	}
	port, err := strconv.ParseInt(parsed.Port(), 10, 32)
	if err != nil {
		return clusterv1.APIEndpoint{}, fmt.Errorf("port of %s: %w", address, err)
	}
	return clusterv1.APIEndpoint{Host: parsed.Hostname(), Port: int32(port)}, nil
}

// applyKubeconfig writes the Secret from which controllers take the access to the workload cluster.
func (c *clusters) applyKubeconfig(ctx context.Context, cluster *clusterv1.Cluster) error {
	workloadCluster, err := c.workload.AddCluster(client.ObjectKeyFromObject(cluster))
	if err != nil {
		return err
	}
	kubeconfig, err := workloadCluster.Kubeconfig()
	if err != nil {
		return err
	}
	secret := corev1apply.Secret(KubeconfigSecretName(cluster.Name), cluster.Namespace).
		WithType(clusterv1.ClusterSecretType).
		WithLabels(map[string]string{clusterv1.ClusterNameLabel: cluster.Name}).
		WithOwnerReferences(metav1apply.OwnerReference().
			WithAPIVersion(clusterv1.GroupVersion.String()).WithKind(clusterv1.ClusterKind).
			WithName(cluster.Name).WithUID(cluster.UID)).
		WithData(map[string][]byte{"value": kubeconfig})
	if err := c.client.Apply(ctx, secret, client.FieldOwner(UserAgent), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply the kubeconfig Secret of Cluster %s: %w", client.ObjectKeyFromObject(cluster), err)
	}
	return nil
}

// KubeconfigSecretName is the name of the Secret with the kubeconfig of a Cluster.
func KubeconfigSecretName(clusterName string) string { return clusterName + "-kubeconfig" }

// writeStatus raises the flags and conditions that follow; none of them is ever taken back.
func (c *clusters) writeStatus(ctx context.Context, cluster *clusterv1.Cluster, provisioned, hasControlPlane bool) error {
	before := cluster.DeepCopy()
	status := &cluster.Status
	initialized := isTrue(status.Initialization.ControlPlaneInitialized) ||
		provisioned && (hasControlPlane || c.options.ControlPlaneInitialized)

	status.SetTypedPhase(clusterv1.ClusterPhaseProvisioning)
	if provisioned {
		status.SetTypedPhase(clusterv1.ClusterPhaseProvisioned)
		status.Initialization.InfrastructureProvisioned = new(true)
		if status.FailureDomains == nil {
			for _, name := range failureDomains {
				domain := clusterv1.FailureDomain{Name: name, ControlPlane: new(true)}
				status.FailureDomains = append(status.FailureDomains, domain)
			}
		}
	}
	if initialized {
		status.Initialization.ControlPlaneInitialized = new(true)
	}
	setCondition(status, clusterv1.ClusterInfrastructureReadyCondition, provisioned,
		clusterv1.ClusterInfrastructureReadyReason, clusterv1.ClusterInfrastructureNotReadyReason)
	setCondition(status, clusterv1.ClusterControlPlaneInitializedCondition, initialized,
		clusterv1.ClusterControlPlaneInitializedReason, clusterv1.ClusterControlPlaneNotInitializedReason)
	if equality.Semantic.DeepEqual(before, cluster) {
		return nil
	}
	return c.client.Status().Patch(ctx, cluster, client.MergeFrom(before))
}

func setCondition(status *clusterv1.ClusterStatus, kind string, yes bool, reason, otherwise string) {
	condition := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason}
	if !yes {
		condition.Status, condition.Reason = metav1.ConditionFalse, otherwise
	}
	apimeta.SetStatusCondition(&status.Conditions, condition)
}

// delete deletes the Machines of the Cluster and lets it go when they are gone.
func (c *clusters) delete(ctx context.Context, cluster *clusterv1.Cluster) error {
	if !slices.Contains(cluster.Finalizers, clusterv1.ClusterFinalizer) {
		return nil
	}
	var machines clusterv1.MachineList
	if err := c.client.List(ctx, &machines, client.InNamespace(cluster.Namespace),
		client.MatchingFields{indexClusterName: cluster.Name}); err != nil {
		return err
	}
	for i := range machines.Items {
		machine := &machines.Items[i]
		if !machine.DeletionTimestamp.IsZero() {
			continue
		}
		if err := c.client.Delete(ctx, machine); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(machines.Items) > 0 {
		return nil
	}
	before := cluster.DeepCopy()
	cluster.Finalizers = slices.DeleteFunc(cluster.Finalizers, func(f string) bool { return f == clusterv1.ClusterFinalizer })
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.client.Patch(ctx, cluster, patch))
}

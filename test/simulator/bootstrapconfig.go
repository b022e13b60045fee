// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/generated/facadetest"
)

// bootstrapConfigs is the role of a provider of bootstrap data: it waits for the Cluster's infrastructure, for workers
// also for a control plane that they can join, and creates the Secret after a delay.
var bootstrapConfigs = role{
	name:      "bootstrapconfig",
	finalizer: keyPrefix + "bootstrapconfig",
	fields: contractFields{
		conditions:           facadetest.SetBootstrapConfigConditions,
		deprecatedConditions: facadetest.SetBootstrapConfigDeprecatedConditions,
		failureReason:        facadetest.SetBootstrapConfigFailureReason,
		failureMessage:       facadetest.SetBootstrapConfigFailureMessage,
	},
	payloadItem: file,
	reference: func(machine *clusterv1.Machine) clusterv1.ContractVersionedObjectReference {
		return machine.Spec.Bootstrap.ConfigRef
	},
	advance:       advanceBootstrapConfig,
	deletionDelay: func(*provider, *occasion) (time.Duration, error) { return 0, nil },
}

func advanceBootstrapConfig(ctx context.Context, p *provider, o *occasion) (progress, error) {
	// A Machine that knows its Secret shows that the data was created before the simulator was.
	if o.machine.Spec.Bootstrap.DataSecretName != nil || !o.memory.provisionedAt.IsZero() {
		return createdData(o), nil
	}
	switch {
	case !isTrue(o.cluster.Status.Initialization.InfrastructureProvisioned):
		return progress{reason: "WaitingForClusterInfrastructure", message: "Waiting for the infrastructure of the Cluster"}, nil
	case !isControlPlane(o.machine) && !isInitialized(o.cluster):
		return progress{reason: "WaitingForControlPlaneInitialized", message: "Waiting for a control plane that the Machine can join"}, nil
	}
	delay, err := p.delay(o, ProvisionDelayAnnotation, p.options.BootstrapDelay)
	if err != nil {
		return progress{}, err
	}
	creating := progress{reason: "CreatingData", message: "The bootstrap data is being made"}
	if creating.again = o.memory.remaining("provision", delay); creating.again > 0 {
		return creating, nil
	}
	switch o.fault {
	case NeverCreatesSecret:
		return creating, nil
	case Fails:
		return progress{failed: true, reason: "DataCreationFailed", message: "The simulated bootstrap provider has given up"}, nil
	}
	if err := p.client.Create(ctx, dataSecret(p, o)); err != nil && !apierrors.IsAlreadyExists(err) {
		return progress{}, fmt.Errorf("create the bootstrap data of Machine %s: %w", o.machine.Name, err)
	}
	o.memory.provisionedAt = time.Now()
	return createdData(o), nil
}

func isInitialized(cluster *clusterv1.Cluster) bool {
	return apimeta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1.ClusterControlPlaneInitializedCondition)
}

func createdData(o *occasion) progress {
	return progress{
		done: true, reason: clusterv1.ReadyReason, since: o.memory.provisionedAt,
		content: func(obj *unstructured.Unstructured) {
			facadetest.SetBootstrapConfigDataSecretName(obj, o.contracts[0], o.key.Name)
			for _, version := range o.contracts {
				facadetest.SetBootstrapConfigDataSecretCreated(obj, version, true)
			}
		},
	}
}

// dataSecret follows the contract between bootstrap and infrastructure providers.
func dataSecret(p *provider, o *occasion) *corev1.Secret {
	owner := metav1.NewControllerRef(o.object, p.kind.WithVersion(NewAPIVersion))
	var script strings.Builder
	script.WriteString("#cloud-config\nwrite_files:\n- path: /run/cluster-api/placeholder\n  content: this is not a real script\n")
	fmt.Fprintf(&script, "runcmd:\n- kubeadm join --node-name %s\n- touch /run/cluster-api/bootstrap-success.complete\n", o.machine.Name)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       o.key.Namespace,
			Name:            o.key.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: o.machine.Spec.ClusterName},
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": []byte(script.String()), "format": []byte("cloud-config")},
	}
}

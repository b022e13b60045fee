// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// MachineBuilder builds Machines. It is immutable.
type MachineBuilder struct{ machine clusterv1.Machine }

// Machine starts a Machine of a Cluster of the name "cluster", with references to an InfraMachine and a BootstrapConfig
// that have the Machine's name and the simulator's kinds.
func Machine(namespace, name string) MachineBuilder {
	return MachineBuilder{clusterv1.Machine{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}}.
		WithClusterName("cluster").
		WithInfrastructureRef(schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine"}, name).
		WithBootstrapRef(schema.GroupKind{Group: "bootstrap.cluster.x-k8s.io", Kind: "SimConfig"}, name)
}

// Build returns a new Machine.
func (b MachineBuilder) Build() *clusterv1.Machine { return b.machine.DeepCopy() }

// With returns a builder with a change that has no method of its own.
func (b MachineBuilder) With(change func(*clusterv1.Machine)) MachineBuilder {
	copied := b.machine.DeepCopy()
	change(copied)
	return MachineBuilder{*copied}
}

// WithClusterName returns a builder with spec.clusterName and the label that goes with it.
func (b MachineBuilder) WithClusterName(name string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.ClusterName = name }).WithLabel(clusterv1.ClusterNameLabel, name)
}

// WithInfrastructureRef returns a builder with spec.infrastructureRef.
func (b MachineBuilder) WithInfrastructureRef(kind schema.GroupKind, name string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.InfrastructureRef = reference(kind, name) })
}

// WithBootstrapRef returns a builder with spec.bootstrap.configRef, and without a data Secret.
func (b MachineBuilder) WithBootstrapRef(kind schema.GroupKind, name string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: reference(kind, name)} })
}

// WithDataSecretName returns a builder with spec.bootstrap.dataSecretName; a reference to a BootstrapConfig stays.
func (b MachineBuilder) WithDataSecretName(name string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = new(name) })
}

// WithoutBootstrapRef returns a builder without a reference to a BootstrapConfig.
func (b MachineBuilder) WithoutBootstrapRef() MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{} })
}

// WithControlPlane returns a builder with the label of control plane Machines.
func (b MachineBuilder) WithControlPlane() MachineBuilder {
	return b.WithLabel(clusterv1.MachineControlPlaneLabel, "")
}

// WithVersion returns a builder with spec.version.
func (b MachineBuilder) WithVersion(version string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.Version = version })
}

// WithProviderID returns a builder with spec.providerID.
func (b MachineBuilder) WithProviderID(id string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Spec.ProviderID = id })
}

// WithNodeRef returns a builder with status.nodeRef.
func (b MachineBuilder) WithNodeRef(node string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Status.NodeRef = clusterv1.MachineNodeReference{Name: node} })
}

// WithLabel returns a builder with a label.
func (b MachineBuilder) WithLabel(key, value string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { metav1.SetMetaDataLabel(&m.ObjectMeta, key, value) })
}

// WithAnnotation returns a builder with an annotation.
func (b MachineBuilder) WithAnnotation(key, value string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { metav1.SetMetaDataAnnotation(&m.ObjectMeta, key, value) })
}

// WithFinalizer returns a builder with one more finalizer.
func (b MachineBuilder) WithFinalizer(finalizer string) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.Finalizers = append(m.Finalizers, finalizer) })
}

// WithOwner returns a builder with one more owner reference.
func (b MachineBuilder) WithOwner(owner metav1.OwnerReference) MachineBuilder {
	return b.With(func(m *clusterv1.Machine) { m.OwnerReferences = append(m.OwnerReferences, owner) })
}

func reference(kind schema.GroupKind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: name}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// machineData is what only v1beta2 has of a Machine, and the rest of it.
type machineData = hubData[clusterv1.MachineSpec, clusterv1.MachineStatus]

// MachineToHub converts a Machine from v1beta1 to v1beta2, all but apiVersion and kind. The two share memory
// afterwards; in is not changed.
//
// Lost are, of references, the version, namespace, uid, resourceVersion and fieldPath, and fractions of a second.
// Not what v1beta1 says, but what ConversionDataAnnotation says counts for minReadySeconds, phase and
// status.failureDomain. Errors name the field of v1beta1 that can't be read.
func MachineToHub(in *Machine, out *clusterv1.Machine) error {
	var data machineData
	meta, restored, err := data.detach(in.ObjectMeta)
	if err != nil {
		return err
	}
	infrastructure, err := referenceToHub("spec.infrastructureRef", &in.Spec.InfrastructureRef)
	if err != nil {
		return err
	}
	config, err := referenceToHub("spec.bootstrap.configRef", in.Spec.Bootstrap.ConfigRef)
	if err != nil {
		return err
	}
	out.ObjectMeta = meta
	out.Spec = clusterv1.MachineSpec{
		ClusterName:       in.Spec.ClusterName,
		Bootstrap:         clusterv1.Bootstrap{ConfigRef: config, DataSecretName: in.Spec.Bootstrap.DataSecretName},
		InfrastructureRef: infrastructure,
		Version:           valueOf(in.Spec.Version),
		ProviderID:        valueOf(in.Spec.ProviderID),
		FailureDomain:     valueOf(in.Spec.FailureDomain),
		MinReadySeconds:   data.Spec.MinReadySeconds,
		ReadinessGates:    in.Spec.ReadinessGates,
		Deletion: clusterv1.MachineDeletionSpec{
			NodeDrainTimeoutSeconds:        secondsOf(in.Spec.NodeDrainTimeout),
			NodeVolumeDetachTimeoutSeconds: secondsOf(in.Spec.NodeVolumeDetachTimeout),
			NodeDeletionTimeoutSeconds:     secondsOf(in.Spec.NodeDeletionTimeout),
		},
		Taints: in.Spec.Taints,
	}
	out.Status = machineStatusToHub(&in.Status, &data.Status)
	if restored {
		out.Status.Phase = data.Status.Phase
	}
	return nil
}

func machineStatusToHub(in *MachineStatus, restored *clusterv1.MachineStatus) clusterv1.MachineStatus {
	out := clusterv1.MachineStatus{
		Initialization: clusterv1.MachineInitializationStatus{
			InfrastructureProvisioned:  flagToHub(in.InfrastructureReady, restored.Initialization.InfrastructureProvisioned),
			BootstrapDataSecretCreated: flagToHub(in.BootstrapReady, restored.Initialization.BootstrapDataSecretCreated),
		},
		NodeRef:                clusterv1.MachineNodeReference{Name: valueOf(in.NodeRef).Name},
		NodeInfo:               in.NodeInfo,
		LastUpdated:            valueOf(in.LastUpdated),
		Addresses:              clusterv1.MachineAddresses(in.Addresses),
		FailureDomain:          restored.FailureDomain,
		Phase:                  in.Phase,
		CertificatesExpiryDate: valueOf(in.CertificatesExpiryDate),
		ObservedGeneration:     in.ObservedGeneration,
	}
	if in.V1Beta2 != nil {
		out.Conditions = in.V1Beta2.Conditions
	}
	if in.Deletion != nil {
		out.Deletion = &clusterv1.MachineDeletionStatus{
			NodeDrainStartTime:               valueOf(in.Deletion.NodeDrainStartTime),
			WaitForNodeVolumeDetachStartTime: valueOf(in.Deletion.WaitForNodeVolumeDetachStartTime),
			WaitForPreDrainHookStartTime:     valueOf(in.Deletion.WaitForPreDrainHookStartTime),
			WaitForPreTerminateHookStartTime: valueOf(in.Deletion.WaitForPreTerminateHookStartTime),
		}
	}
	if in.Conditions != nil || in.FailureReason != nil || in.FailureMessage != nil {
		out.Deprecated = &clusterv1.MachineDeprecatedStatus{V1Beta1: &clusterv1.MachineV1Beta1DeprecatedStatus{
			Conditions: in.Conditions, FailureReason: in.FailureReason, FailureMessage: in.FailureMessage,
		}}
	}
	return out
}

// MachineFromHub converts a Machine from v1beta2 to v1beta1, all but apiVersion and kind. The two share memory
// afterwards; in is not changed.
//
// A reference to a kind of which versions knows nothing gets UnknownVersion. The only errors are those of versions.
func MachineFromHub(in *clusterv1.Machine, out *Machine, versions Versions) error {
	infrastructure, err := versions.reference(in.Spec.InfrastructureRef, in.Namespace)
	if err != nil {
		return err
	}
	config, err := versions.reference(in.Spec.Bootstrap.ConfigRef, in.Namespace)
	if err != nil {
		return err
	}
	meta, err := machineData{TypeMeta: in.TypeMeta, Spec: in.Spec, Status: in.Status}.attach(in.ObjectMeta)
	if err != nil {
		return err
	}
	out.ObjectMeta = meta
	out.Spec = MachineSpec{
		ClusterName:             in.Spec.ClusterName,
		Bootstrap:               Bootstrap{ConfigRef: config, DataSecretName: in.Spec.Bootstrap.DataSecretName},
		InfrastructureRef:       valueOf(infrastructure),
		Version:                 pointerTo(in.Spec.Version),
		ProviderID:              pointerTo(in.Spec.ProviderID),
		FailureDomain:           pointerTo(in.Spec.FailureDomain),
		ReadinessGates:          in.Spec.ReadinessGates,
		NodeDrainTimeout:        durationOf(in.Spec.Deletion.NodeDrainTimeoutSeconds),
		NodeVolumeDetachTimeout: durationOf(in.Spec.Deletion.NodeVolumeDetachTimeoutSeconds),
		NodeDeletionTimeout:     durationOf(in.Spec.Deletion.NodeDeletionTimeoutSeconds),
		Taints:                  in.Spec.Taints,
	}
	out.Status = machineStatusFromHub(&in.Status)
	return nil
}

func machineStatusFromHub(in *clusterv1.MachineStatus) MachineStatus {
	out := MachineStatus{
		NodeInfo:               in.NodeInfo,
		LastUpdated:            pointerToTime(in.LastUpdated),
		Addresses:              MachineAddresses(in.Addresses),
		Phase:                  in.Phase,
		CertificatesExpiryDate: pointerToTime(in.CertificatesExpiryDate),
		BootstrapReady:         valueOf(in.Initialization.BootstrapDataSecretCreated),
		InfrastructureReady:    valueOf(in.Initialization.InfrastructureProvisioned),
		ObservedGeneration:     in.ObservedGeneration,
	}
	if in.Phase == string(clusterv1.MachinePhaseUpdating) {
		out.Phase = string(clusterv1.MachinePhaseRunning)
	}
	if in.NodeRef.IsDefined() {
		out.NodeRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: in.NodeRef.Name}
	}
	if in.Conditions != nil {
		out.V1Beta2 = &MachineV1Beta2Status{Conditions: in.Conditions}
	}
	if in.Deletion != nil {
		out.Deletion = &MachineDeletionStatus{
			NodeDrainStartTime:               pointerToTime(in.Deletion.NodeDrainStartTime),
			WaitForNodeVolumeDetachStartTime: pointerToTime(in.Deletion.WaitForNodeVolumeDetachStartTime),
			WaitForPreDrainHookStartTime:     pointerToTime(in.Deletion.WaitForPreDrainHookStartTime),
			WaitForPreTerminateHookStartTime: pointerToTime(in.Deletion.WaitForPreTerminateHookStartTime),
		}
	}
	if in.Deprecated != nil && in.Deprecated.V1Beta1 != nil {
		deprecated := in.Deprecated.V1Beta1
		out.Conditions, out.FailureReason, out.FailureMessage = deprecated.Conditions, deprecated.FailureReason, deprecated.FailureMessage
	}
	return out
}

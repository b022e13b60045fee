// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// clusterData is what only v1beta2 has of a Cluster, and the rest of it.
type clusterData = hubData[clusterv1.ClusterSpec, clusterv1.ClusterStatus]

// ClusterToHub converts a Cluster from v1beta1 to v1beta2, all but apiVersion and kind. The two share memory
// afterwards; in is not changed.
//
// Lost is, of references, what MachineToHub loses, too. Failure domains are sorted by name, unless
// ConversionDataAnnotation has the same ones in another order. Errors name the field of v1beta1 that can't be read.
func ClusterToHub(in *Cluster, out *clusterv1.Cluster) error {
	var data clusterData
	meta, _, err := data.detach(in.ObjectMeta)
	if err != nil {
		return err
	}
	infrastructure, err := referenceToHub("spec.infrastructureRef", in.Spec.InfrastructureRef)
	if err != nil {
		return err
	}
	controlPlane, err := referenceToHub("spec.controlPlaneRef", in.Spec.ControlPlaneRef)
	if err != nil {
		return err
	}
	out.ObjectMeta = meta
	out.Spec = clusterv1.ClusterSpec{
		Paused:               flagToHub(in.Spec.Paused, data.Spec.Paused),
		ClusterNetwork:       networkToHub(in.Spec.ClusterNetwork),
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: in.Spec.ControlPlaneEndpoint.Host, Port: in.Spec.ControlPlaneEndpoint.Port},
		ControlPlaneRef:      controlPlane,
		InfrastructureRef:    infrastructure,
		Topology:             topologyToHub(in.Spec.Topology),
		AvailabilityGates:    in.Spec.AvailabilityGates,
	}
	out.Status = clusterStatusToHub(&in.Status, &data.Status)
	return nil
}

func networkToHub(in *ClusterNetwork) clusterv1.ClusterNetwork {
	if in == nil {
		return clusterv1.ClusterNetwork{}
	}
	return clusterv1.ClusterNetwork{
		APIServerPort: valueOf(in.APIServerPort),
		Services:      clusterv1.NetworkRanges{CIDRBlocks: valueOf(in.Services).CIDRBlocks},
		Pods:          clusterv1.NetworkRanges{CIDRBlocks: valueOf(in.Pods).CIDRBlocks},
		ServiceDomain: in.ServiceDomain,
	}
}

func clusterStatusToHub(in *ClusterStatus, restored *clusterv1.ClusterStatus) clusterv1.ClusterStatus {
	out := clusterv1.ClusterStatus{
		Initialization: clusterv1.ClusterInitializationStatus{
			InfrastructureProvisioned: flagToHub(in.InfrastructureReady, restored.Initialization.InfrastructureProvisioned),
			ControlPlaneInitialized:   flagToHub(in.ControlPlaneReady, restored.Initialization.ControlPlaneInitialized),
		},
		FailureDomains:     failureDomainsToHub(in.FailureDomains, restored.FailureDomains),
		Phase:              in.Phase,
		ObservedGeneration: in.ObservedGeneration,
	}
	if in.V1Beta2 != nil {
		out.Conditions, out.ControlPlane, out.Workers = in.V1Beta2.Conditions, in.V1Beta2.ControlPlane, in.V1Beta2.Workers
	}
	if in.Conditions != nil || in.FailureReason != nil || in.FailureMessage != nil {
		out.Deprecated = &clusterv1.ClusterDeprecatedStatus{V1Beta1: &clusterv1.ClusterV1Beta1DeprecatedStatus{
			Conditions: in.Conditions, FailureReason: in.FailureReason, FailureMessage: in.FailureMessage,
		}}
	}
	return out
}

// failureDomainsToHub returns what was restored if the client has not changed it: a map has no order, and false may have
// been "not set".
func failureDomainsToHub(in FailureDomains, restored []clusterv1.FailureDomain) []clusterv1.FailureDomain {
	if equality.Semantic.DeepEqual(in, failureDomainsFromHub(restored)) {
		return restored
	}
	out := make([]clusterv1.FailureDomain, 0, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		domain := in[name]
		out = append(out, clusterv1.FailureDomain{Name: name, ControlPlane: &domain.ControlPlane, Attributes: domain.Attributes})
	}
	return out
}

func failureDomainsFromHub(in []clusterv1.FailureDomain) FailureDomains {
	if in == nil {
		return nil
	}
	out := make(FailureDomains, len(in))
	for _, domain := range in {
		out[domain.Name] = FailureDomainSpec{ControlPlane: valueOf(domain.ControlPlane), Attributes: domain.Attributes}
	}
	return out
}

// ClusterFromHub converts a Cluster from v1beta2 to v1beta1, all but apiVersion and kind. The two share memory
// afterwards; in is not changed.
//
// A reference to a kind of which versions knows nothing gets UnknownVersion. The only errors are those of versions.
func ClusterFromHub(in *clusterv1.Cluster, out *Cluster, versions Versions) error {
	infrastructure, err := versions.reference(in.Spec.InfrastructureRef, in.Namespace)
	if err != nil {
		return err
	}
	controlPlane, err := versions.reference(in.Spec.ControlPlaneRef, in.Namespace)
	if err != nil {
		return err
	}
	meta, err := clusterData{TypeMeta: in.TypeMeta, Spec: in.Spec, Status: in.Status}.attach(in.ObjectMeta)
	if err != nil {
		return err
	}
	out.ObjectMeta = meta
	out.Spec = ClusterSpec{
		Paused:               valueOf(in.Spec.Paused),
		ClusterNetwork:       networkFromHub(&in.Spec.ClusterNetwork),
		ControlPlaneEndpoint: APIEndpoint{Host: in.Spec.ControlPlaneEndpoint.Host, Port: in.Spec.ControlPlaneEndpoint.Port},
		ControlPlaneRef:      controlPlane,
		InfrastructureRef:    infrastructure,
		Topology:             topologyFromHub(in.Spec.Topology, in.Namespace),
		AvailabilityGates:    in.Spec.AvailabilityGates,
	}
	out.Status = clusterStatusFromHub(&in.Status)
	return nil
}

func networkFromHub(in *clusterv1.ClusterNetwork) *ClusterNetwork {
	out := &ClusterNetwork{
		APIServerPort: pointerTo(in.APIServerPort),
		Services:      rangesFromHub(in.Services),
		Pods:          rangesFromHub(in.Pods),
		ServiceDomain: in.ServiceDomain,
	}
	if *out == (ClusterNetwork{}) {
		return nil
	}
	return out
}

func rangesFromHub(in clusterv1.NetworkRanges) *NetworkRanges {
	if in.CIDRBlocks == nil {
		return nil
	}
	return &NetworkRanges{CIDRBlocks: in.CIDRBlocks}
}

func clusterStatusFromHub(in *clusterv1.ClusterStatus) ClusterStatus {
	out := ClusterStatus{
		FailureDomains:      failureDomainsFromHub(in.FailureDomains),
		Phase:               in.Phase,
		InfrastructureReady: valueOf(in.Initialization.InfrastructureProvisioned),
		ControlPlaneReady:   valueOf(in.Initialization.ControlPlaneInitialized),
		ObservedGeneration:  in.ObservedGeneration,
	}
	if in.Conditions != nil || in.ControlPlane != nil || in.Workers != nil {
		out.V1Beta2 = &ClusterV1Beta2Status{Conditions: in.Conditions, ControlPlane: in.ControlPlane, Workers: in.Workers}
	}
	if in.Deprecated != nil && in.Deprecated.V1Beta1 != nil {
		deprecated := in.Deprecated.V1Beta1
		out.Conditions, out.FailureReason, out.FailureMessage = deprecated.Conditions, deprecated.FailureReason, deprecated.FailureMessage
	}
	return out
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations by which a provider object deviates from the options of the simulator. The delays are Go durations, such
// as "1m30s", and are taken as they are, without jitter.
const (
	keyPrefix = "simulator.machinist.dev/"
	// ProvisionDelayAnnotation is how long provisioning takes: Options.ProvisionDelay or Options.BootstrapDelay.
	ProvisionDelayAnnotation = keyPrefix + "provision-delay"
	// NodeDelayAnnotation is how long a provisioned server takes to become a Node: Options.NodeDelay.
	NodeDelayAnnotation = keyPrefix + "node-delay"
	// DeletionDelayAnnotation is how long deletion takes: Options.DeletionDelay.
	DeletionDelayAnnotation = keyPrefix + "deletion-delay"
	// FaultAnnotation names a Fault. Empty means none, even where the options would have chosen one.
	FaultAnnotation = keyPrefix + "fault"

	// provisionedAtAnnotation is the simulator's own: when it provisioned the object, RFC 3339.
	provisionedAtAnnotation = keyPrefix + "provisioned-at"
)

// DefaultPayloadSize is how much content outside the contract a provider object has by default, in bytes of JSON, half
// of it in spec and half in status.
const DefaultPayloadSize = 20_000

// Options of a simulator. The zero value provides SimMachine and SimConfig with no delays and no faults.
type Options struct {
	// InfraMachines and BootstrapConfigs are the kinds to provide; their CRDs must be installed. Nil means SimMachine
	// and SimConfig. See also Simulator.Provide.
	InfraMachines    []schema.GroupKind
	BootstrapConfigs []schema.GroupKind

	// Namespaces to look after. Nil means all.
	Namespaces []string

	// WorkloadAddress is where the workload clusters are served, host:port. Empty means a free port of 127.0.0.1.
	WorkloadAddress string

	// BootstrapDelay is from the moment that bootstrap data can be made to the moment that the Secret exists.
	BootstrapDelay time.Duration
	// ProvisionDelay is from the moment that a server can be created to the moment that it is provisioned.
	ProvisionDelay time.Duration
	// NodeDelay is from provisioned to the creation of the Node.
	NodeDelay time.Duration
	// DeletionDelay is from the deletion of an InfraMachine to the removal of its finalizer.
	DeletionDelay time.Duration
	// ClusterDelay is from the creation of a Cluster to infrastructureProvisioned.
	ClusterDelay time.Duration
	// Jitter is the share by which each delay varies from object to object, both ways: 0 to 1.
	Jitter float64
	// Seed makes jitter and faults repeatable.
	Seed uint64

	// ControlPlaneInitialized sets the Cluster's condition of that name with the infrastructure, instead of waiting for
	// the Node of the first control plane Machine. Clusters without control plane Machines need it.
	ControlPlaneInitialized bool

	// NoClusterStatus leaves the status of Clusters, and the deletion of what belongs to them, to somebody else, such as
	// Cluster API's Cluster controller.
	NoClusterStatus bool

	// PayloadSize is how much content outside the contract the provider puts into each object's status, in bytes of JSON.
	// 0 means half of DefaultPayloadSize, less than 0 means none.
	PayloadSize int

	// HeartbeatInterval is how often each provider object's status changes outside the contract. 0 means never.
	HeartbeatInterval time.Duration
	// NodeHeartbeatInterval is how often the heartbeat times in each Node's conditions change. 0 means never.
	NodeHeartbeatInterval time.Duration

	// Quiet reports only the end of provisioning, or a failure. Otherwise an object's Ready condition also says what it
	// waits for, which is two or three more writes per object.
	Quiet bool

	// Faults are the shares of objects, from 0 to 1, that have each fault; their sum is at most 1. A fault that the kind
	// of an object can't have does nothing.
	Faults map[Fault]float64

	// Workers is how many objects of each kind are worked on at the same time. 0 means 16.
	Workers int
}

// complete fills in defaults and checks the rest.
func (o Options) complete() (Options, error) {
	if o.InfraMachines == nil {
		o.InfraMachines = []schema.GroupKind{SimMachine}
	}
	if o.BootstrapConfigs == nil {
		o.BootstrapConfigs = []schema.GroupKind{SimConfig}
	}
	if o.PayloadSize == 0 {
		o.PayloadSize = DefaultPayloadSize / 2
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.Workers < 0 {
		return o, fmt.Errorf("simulator: Workers is %d, expected 0 (the default) or more", o.Workers)
	}
	if o.Jitter < 0 || o.Jitter > 1 {
		return o, fmt.Errorf("simulator: Jitter is %v, expected 0 to 1", o.Jitter)
	}
	for name, duration := range map[string]time.Duration{
		"BootstrapDelay": o.BootstrapDelay, "ProvisionDelay": o.ProvisionDelay, "NodeDelay": o.NodeDelay,
		"DeletionDelay": o.DeletionDelay, "ClusterDelay": o.ClusterDelay,
		"HeartbeatInterval": o.HeartbeatInterval, "NodeHeartbeatInterval": o.NodeHeartbeatInterval,
	} {
		if duration < 0 {
			return o, fmt.Errorf("simulator: %s is %s, expected 0 or more", name, duration)
		}
	}
	sum := 0.0
	for fault, share := range o.Faults {
		if _, known := faults[fault]; !known {
			return o, fmt.Errorf("simulator: Faults has %q, expected one of %s", fault, faultNames())
		}
		if share < 0 {
			return o, fmt.Errorf("simulator: the share of fault %s is %v, expected 0 to 1", fault, share)
		}
		sum += share
	}
	if sum > 1 {
		return o, fmt.Errorf("simulator: the shares of Faults add up to %v, expected at most 1", sum)
	}
	return o, nil
}

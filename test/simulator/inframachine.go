// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facadetest"
)

// infraMachines is the role of a provider of servers: it waits for the Cluster's infrastructure and for bootstrap data,
// provisions after a delay, and after another delay the server becomes a Node.
var infraMachines = role{
	name:      "inframachine",
	finalizer: keyPrefix + "inframachine",
	fields: contractFields{
		conditions:           facadetest.SetInfraMachineConditions,
		deprecatedConditions: facadetest.SetInfraMachineDeprecatedConditions,
		failureReason:        facadetest.SetInfraMachineFailureReason,
		failureMessage:       facadetest.SetInfraMachineFailureMessage,
	},
	payloadItem: device,
	reference: func(machine *clusterv1.Machine) clusterv1.ContractVersionedObjectReference {
		return machine.Spec.InfrastructureRef
	},
	advance: advanceInfraMachine,
	finish:  joinNode,
	deletionDelay: func(p *provider, o *occasion) (time.Duration, error) {
		return p.delay(o, DeletionDelayAnnotation, p.options.DeletionDelay)
	},
}

func advanceInfraMachine(_ context.Context, p *provider, o *occasion) (progress, error) {
	if at, provisioned := provisionedAt(o); provisioned {
		return provisionedMachine(o, at), nil
	}
	switch {
	case !isTrue(o.cluster.Status.Initialization.InfrastructureProvisioned):
		return progress{reason: "WaitingForClusterInfrastructure", message: "Waiting for the infrastructure of the Cluster"}, nil
	case o.machine.Spec.Bootstrap.DataSecretName == nil:
		return progress{reason: "WaitingForBootstrapData", message: "Waiting for the bootstrap data of the Machine"}, nil
	}
	delay, err := p.delay(o, ProvisionDelayAnnotation, p.options.ProvisionDelay)
	if err != nil {
		return progress{}, err
	}
	provisioning := progress{reason: "Provisioning", message: "The server is being created"}
	if provisioning.again = o.memory.remaining("provision", delay); provisioning.again > 0 {
		return provisioning, nil
	}
	switch o.fault {
	case NeverProvisions:
		return provisioning, nil
	case Fails:
		return progress{failed: true, reason: "ProvisioningFailed", message: "The simulated cloud has no servers left"}, nil
	}
	o.memory.provisionedAt = time.Now()
	return provisionedMachine(o, o.memory.provisionedAt), nil
}

// provisionedAt is remembered by the object, so that a new simulator doesn't provision again.
func provisionedAt(o *occasion) (time.Time, bool) {
	if !o.memory.provisionedAt.IsZero() {
		return o.memory.provisionedAt, true
	}
	at, err := time.Parse(time.RFC3339, o.object.Annotations[provisionedAtAnnotation])
	return at, err == nil
}

func provisionedMachine(o *occasion, at time.Time) progress {
	return progress{
		done: true, reason: clusterv1.ReadyReason, since: at,
		content: func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{provisionedAtAnnotation: at.UTC().Format(time.RFC3339)})
			newest := o.contracts[0]
			server := serverOf(o)
			facadetest.SetInfraMachineProviderID(obj, newest, server.providerID)
			facadetest.SetInfraMachineFailureDomain(obj, newest, server.failureDomain)
			facadetest.SetInfraMachineAddresses(obj, newest, server.addresses)
			for _, version := range o.contracts {
				facadetest.SetInfraMachineProvisioned(obj, version, true)
			}
		},
	}
}

// server is what the simulated cloud knows about the server of an InfraMachine.
type server struct {
	providerID    string
	failureDomain string
	internalIP    string
	addresses     []contract.MachineAddress
}

// serverOf derives everything from names and UID, so that it is the same each time.
func serverOf(o *occasion) server {
	random := chance{}.of(o.key, string(o.object.UID))
	s := server{
		providerID:    fmt.Sprintf("simulated:///%s/%s/%s", o.key.Namespace, o.machine.Spec.ClusterName, o.object.UID),
		failureDomain: o.machine.Spec.FailureDomain,
		internalIP:    fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), 1+random.IntN(254)),
	}
	if s.failureDomain == "" {
		s.failureDomain = failureDomains[random.IntN(len(failureDomains))]
	}
	s.addresses = []contract.MachineAddress{
		{Type: string(clusterv1.MachineHostName), Address: o.machine.Name},
		{Type: string(clusterv1.MachineInternalIP), Address: s.internalIP},
		{Type: string(clusterv1.MachineInternalDNS), Address: o.machine.Name + ".internal.example.com"},
	}
	return s
}

// failureDomains are those of every simulated Cluster.
var failureDomains = []string{"zone-a", "zone-b", "zone-c"}

// joinNode creates the Node, once: a Node that somebody deletes stays away, as it would with a kubelet that isn't
// restarted.
func joinNode(ctx context.Context, p *provider, o *occasion) (time.Duration, error) {
	if o.memory.joined || o.fault == NeverJoins {
		return 0, nil
	}
	delay, err := p.delay(o, NodeDelayAnnotation, p.options.NodeDelay)
	if err != nil {
		return 0, err
	}
	if remaining := o.memory.remaining("node", delay); remaining > 0 {
		return remaining, nil
	}
	cluster, err := p.workload.AddCluster(clusterKeyOf(o.machine))
	if err != nil {
		return 0, err
	}
	if err := register(cluster, newNode(o.machine, serverOf(o))); err != nil {
		return 0, fmt.Errorf("create the Node of Machine %s: %w", o.machine.Name, err)
	}
	if isControlPlane(o.machine) {
		if err := p.clusters.controlPlaneJoined(ctx, o.cluster); err != nil {
			return 0, err
		}
	}
	o.memory.joined = true
	return 0, nil
}

func isControlPlane(machine *clusterv1.Machine) bool {
	_, found := machine.Labels[clusterv1.MachineControlPlaneLabel]
	return found
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

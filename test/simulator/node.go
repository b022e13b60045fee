// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/simulator/workload"
)

// uninitializedTaint is what a bootstrap provider puts on workers, for the Machine controller to remove.
var uninitializedTaint = corev1.Taint{Key: "node.cluster.x-k8s.io/uninitialized", Effect: corev1.TaintEffectNoSchedule}

const (
	controlPlaneRole = "node-role.kubernetes.io/control-plane"
	// nodeImages is how many images make the JSON of a Node about 8 KB, as it is in a cluster that is in use.
	nodeImages = 25
)

// register creates the Node. One of that name that is left from another server is replaced: the cloud's node controller
// would have removed it.
func register(cluster *workload.Cluster, node *corev1.Node) error {
	err := cluster.Create(node)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var existing corev1.Node
	if err := cluster.Get(types.NamespacedName{Name: node.Name}, &existing); err != nil {
		return err
	}
	if existing.Spec.ProviderID == node.Spec.ProviderID {
		return nil
	}
	if err := cluster.Delete(types.NamespacedName{Name: node.Name}, node); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return cluster.Create(node)
}

// newNode returns the Node that a kubelet and the usual controllers make of a Machine's server.
func newNode(machine *clusterv1.Machine, s server) *corev1.Node {
	now := metav1.NewTime(time.Now()).Rfc3339Copy()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: machine.Name,
			Labels: map[string]string{
				corev1.LabelHostname:                machine.Name,
				corev1.LabelOSStable:                "linux",
				corev1.LabelArchStable:              "amd64",
				corev1.LabelInstanceTypeStable:      "sim.large",
				corev1.LabelTopologyRegion:          "sim-1",
				corev1.LabelTopologyZone:            s.failureDomain,
				"beta.kubernetes.io/os":             "linux",
				"beta.kubernetes.io/arch":           "amd64",
				"topology.csi.example.com/zone":     s.failureDomain,
				"feature.node.kubernetes.io/cpu-id": "simulated",
			},
			Annotations: map[string]string{
				"kubeadm.alpha.kubernetes.io/cri-socket":                 "unix:///run/containerd/containerd.sock",
				"node.alpha.kubernetes.io/ttl":                           "0",
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
				"csi.volume.kubernetes.io/nodeid":                        fmt.Sprintf(`{"csi.example.com":%q}`, s.providerID),
			},
		},
		Spec: corev1.NodeSpec{ProviderID: s.providerID, PodCIDR: "10.244.1.0/24", PodCIDRs: []string{"10.244.1.0/24"}},
		Status: corev1.NodeStatus{
			Capacity:        resources("8", "32Gi"),
			Allocatable:     resources("7800m", "30Gi"),
			Conditions:      nodeConditions(now),
			Addresses:       nodeAddresses(s),
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo:        nodeInfo(machine),
			Images:          images(nodeImages),
		},
	}
	if isControlPlane(machine) {
		node.Labels[controlPlaneRole] = ""
		node.Spec.Taints = []corev1.Taint{{Key: controlPlaneRole, Effect: corev1.TaintEffectNoSchedule}}
	} else {
		node.Spec.Taints = []corev1.Taint{uninitializedTaint}
	}
	return node
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(cpu),
		corev1.ResourceMemory:           resource.MustParse(memory),
		corev1.ResourcePods:             resource.MustParse("110"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		"hugepages-2Mi":                 resource.MustParse("0"),
	}
}

func nodeConditions(now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "RouteCreated", "the network of the Node is set up"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

func nodeAddresses(s server) []corev1.NodeAddress {
	addresses := make([]corev1.NodeAddress, 0, len(s.addresses))
	for _, address := range s.addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(address.Type), Address: address.Address})
	}
	return addresses
}

func nodeInfo(machine *clusterv1.Machine) corev1.NodeSystemInfo {
	version := machine.Spec.Version
	if version == "" {
		version = workload.KubernetesVersion
	}
	return corev1.NodeSystemInfo{
		Architecture: "amd64", OperatingSystem: "linux", OSImage: "Simulated Linux 1.0",
		KernelVersion: "6.12.0-sim", ContainerRuntimeVersion: "containerd://2.2.0",
		KubeletVersion: version,
		MachineID:      string(machine.UID), SystemUUID: string(machine.UID), BootID: string(machine.UID),
	}
}

// images returns the same images for every Node, as the Nodes of a cluster mostly have.
func images(count int) []corev1.ContainerImage {
	list := make([]corev1.ContainerImage, 0, count)
	for i := range count {
		name := fmt.Sprintf("registry.example.com/platform/component-%02d", i)
		list = append(list, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("%s@sha256:%x", name, sha256.Sum256([]byte(name))), fmt.Sprintf("%s:v1.%d.0", name, i)},
			SizeBytes: int64(1000003 * (1 + i)),
		})
	}
	return list
}

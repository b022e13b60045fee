// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

func clusterToHub(t *testing.T, in *clusterv1beta1.Cluster) *clusterv1.Cluster {
	t.Helper()
	before, out := in.DeepCopy(), &clusterv1.Cluster{}
	if err := clusterv1beta1.ClusterToHub(in, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the conversion has changed what it read (-before +after):\n%s", diff)
	}
	return out
}

func clusterFromHub(t *testing.T, in *clusterv1.Cluster) *clusterv1beta1.Cluster {
	t.Helper()
	before, out := in.DeepCopy(), &clusterv1beta1.Cluster{}
	if err := clusterv1beta1.ClusterFromHub(in, out, known); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the conversion has changed what it read (-before +after):\n%s", diff)
	}
	return out
}

func TestClusterSpecMoves(t *testing.T) {
	hub := clusterv1.ClusterSpec{
		Paused: new(true),
		ClusterNetwork: clusterv1.ClusterNetwork{
			APIServerPort: 6443, ServiceDomain: "cluster.local",
			Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
		},
		ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "api.example.com", Port: 6443},
		ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "Gone", Name: "sim"},
		InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "SimCluster", Name: "sim"},
	}
	spoke := clusterv1beta1.ClusterSpec{
		Paused: true,
		ClusterNetwork: &clusterv1beta1.ClusterNetwork{
			APIServerPort: new(int32(6443)), ServiceDomain: "cluster.local",
			Services: &clusterv1beta1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
		},
		ControlPlaneEndpoint: clusterv1beta1.APIEndpoint{Host: "api.example.com", Port: 6443},
		ControlPlaneRef: &corev1.ObjectReference{
			APIVersion: "controlplane.cluster.x-k8s.io/unknown", Kind: "Gone", Namespace: "ns", Name: "sim",
		},
		InfrastructureRef: &corev1.ObjectReference{APIVersion: infrastructure + "/v1beta1", Kind: "SimCluster", Namespace: "ns", Name: "sim"},
	}
	meta := metav1.ObjectMeta{Namespace: "ns"}
	if diff := cmp.Diff(spoke, clusterFromHub(t, &clusterv1.Cluster{ObjectMeta: meta, Spec: hub}).Spec); diff != "" {
		t.Errorf("from v1beta2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hub, clusterToHub(t, &clusterv1beta1.Cluster{ObjectMeta: meta, Spec: spoke}).Spec); diff != "" {
		t.Errorf("to v1beta2 (-want +got):\n%s", diff)
	}
}

func TestFailureDomainsKeepTheirOrder(t *testing.T) {
	hub := &clusterv1.Cluster{Status: clusterv1.ClusterStatus{FailureDomains: []clusterv1.FailureDomain{
		{Name: "z", Attributes: map[string]string{"rack": "7"}}, {Name: "a", ControlPlane: new(false)}, {Name: "k", ControlPlane: new(true)},
	}}}
	spoke := clusterFromHub(t, hub)
	want := clusterv1beta1.FailureDomains{"z": {Attributes: map[string]string{"rack": "7"}}, "a": {}, "k": {ControlPlane: true}}
	if diff := cmp.Diff(want, spoke.Status.FailureDomains); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hub.Status, clusterToHub(t, spoke).Status); diff != "" {
		t.Errorf("and back (-before +after):\n%s", diff)
	}

	delete(spoke.Status.FailureDomains, "k")
	changed := []clusterv1.FailureDomain{{Name: "a", ControlPlane: new(false)}, {Name: "z", ControlPlane: new(false), Attributes: map[string]string{"rack": "7"}}}
	if diff := cmp.Diff(changed, clusterToHub(t, spoke).Status.FailureDomains); diff != "" {
		t.Errorf("after a change (-want +got):\n%s", diff)
	}
}

func TestPausedFalseStaysFalse(t *testing.T) {
	for _, paused := range []*bool{nil, new(false), new(true)} {
		hub := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: paused}}
		if diff := cmp.Diff(paused, clusterToHub(t, clusterFromHub(t, hub)).Spec.Paused); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
}

// topologies are pairs of what is the same in both versions.
var topologies = map[string]struct{ v1beta1, v1beta2 string }{
	"class": {
		v1beta1: `{"class":"quick","classNamespace":"classes","version":"v1.37.2"}`,
		v1beta2: `{"classRef":{"name":"quick","namespace":"classes"},"version":"v1.37.2"}`,
	},
	"control plane": {
		v1beta1: `{"controlPlane":{"replicas":3,"rollout":{"after":"2026-08-01T12:00:00Z"},"nodeDrainTimeout":"10m0s",
			"machineHealthCheck":{"enable":false,"maxUnhealthy":"40%","nodeStartupTimeout":"20m0s",
				"remediationTemplate":{"apiVersion":"a/v1","kind":"K","name":"n","namespace":"ns"},
				"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"5m0s"}]}}}`,
		v1beta2: `{"controlPlane":{"replicas":3,"rollout":{"after":"2026-08-01T12:00:00Z"},"deletion":{"nodeDrainTimeoutSeconds":600},
			"healthCheck":{"enabled":false,
				"checks":{"nodeStartupTimeoutSeconds":1200,"unhealthyNodeConditions":[{"type":"Ready","status":"False","timeoutSeconds":300}]},
				"remediation":{"triggerIf":{"unhealthyLessThanOrEqualTo":"40%"},"templateRef":{"apiVersion":"a/v1","kind":"K","name":"n"}}}}}`,
	},
	"workers": {
		v1beta1: `{"workers":{
			"machineDeployments":[{"class":"c","name":"md","rollout":{"after":"2026-08-01T12:00:00Z"},
				"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"deletePolicy":"Oldest"},"remediation":{"maxInFlight":"20%"}}}],
			"machinePools":[{"class":"p","name":"mp","nodeDeletionTimeout":"0s"}]}}`,
		v1beta2: `{"workers":{
			"machineDeployments":[{"class":"c","name":"md","deletion":{"order":"Oldest"},
				"rollout":{"after":"2026-08-01T12:00:00Z","strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}},
				"healthCheck":{"remediation":{"maxInFlight":"20%"}}}],
			"machinePools":[{"class":"p","name":"mp","deletion":{"nodeDeletionTimeoutSeconds":0}}]}}`,
	},
	"what nobody knows": {
		v1beta1: `{"fromTheFuture":{"big":12345678901234567890.123,"list":[null,{}]},"workers":"none"}`,
		v1beta2: `{"fromTheFuture":{"big":12345678901234567890.123,"list":[null,{}]},"workers":"none"}`,
	},
}

func TestTopology(t *testing.T) {
	for name, test := range topologies {
		t.Run(name, func(t *testing.T) {
			spoke := clusterFromHub(t, &clusterv1.Cluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: clusterv1.ClusterSpec{Topology: raw(test.v1beta2)},
			})
			requireJSON(t, "from v1beta2", test.v1beta1, spoke.Spec.Topology)
			hub := clusterToHub(t, &clusterv1beta1.Cluster{Spec: clusterv1beta1.ClusterSpec{Topology: raw(test.v1beta1)}})
			requireJSON(t, "to v1beta2", test.v1beta2, hub.Spec.Topology)
		})
	}
}

func TestTopologyToHubDropsWhatIsGone(t *testing.T) {
	hub := clusterToHub(t, &clusterv1beta1.Cluster{Spec: clusterv1beta1.ClusterSpec{Topology: raw(
		`{"class":"c","rolloutAfter":"2026-08-01T12:00:00Z","variables":[{"name":"v","definitionFrom":"p","value":1}],
		"controlPlane":{"machineHealthCheck":{},"variables":{"overrides":[{"name":"v","definitionFrom":"p","value":2}]}}}`)}})
	requireJSON(t, "to v1beta2",
		`{"classRef":{"name":"c"},"variables":[{"name":"v","value":1}],"controlPlane":{"variables":{"overrides":[{"name":"v","value":2}]}}}`,
		hub.Spec.Topology)
}

// What can't be understood is handed on as it is, so that it is lost neither way and stands in nobody's way.
func TestTopologyWithValuesOfWrongTypes(t *testing.T) {
	for v1beta2, v1beta1 := range map[string]string{
		`{"controlPlane":{"deletion":{"nodeDrainTimeoutSeconds":"soon"}}}`: `{"controlPlane":{"nodeDrainTimeout":"soon"}}`,
		`{"controlPlane":{"deletion":{"nodeDrainTimeoutSeconds":1.5}}}`:    `{"controlPlane":{"nodeDrainTimeout":1.5}}`,
		`{"controlPlane":{"deletion":{"nodeDrainTimeoutSeconds":1e99}}}`:   `{"controlPlane":{"nodeDrainTimeout":1e99}}`,
		`{"classRef":"quick","controlPlane":[]}`:                           `{"classRef":"quick","controlPlane":[]}`,
		`{"workers":{"machineDeployments":[null,7]}}`:                      `{"workers":{"machineDeployments":[null,7]}}`,
	} {
		spoke := clusterFromHub(t, &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Topology: raw(v1beta2)}})
		requireJSON(t, "from v1beta2", v1beta1, spoke.Spec.Topology)
		hub := clusterToHub(t, &clusterv1beta1.Cluster{Spec: clusterv1beta1.ClusterSpec{Topology: raw(v1beta1)}})
		requireJSON(t, "to v1beta2", v1beta2, hub.Spec.Topology)
	}
}

func raw(topology string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(topology)} }

func requireJSON(t *testing.T, what, want string, got *runtime.RawExtension) {
	t.Helper()
	var wanted, found any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Raw, &found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, found); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

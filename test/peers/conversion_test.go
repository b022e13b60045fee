// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capiv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/randfill"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

// kindVersions are the kinds of an installation, with the API version that their contract label names.
var kindVersions = map[schema.GroupKind]string{
	{Group: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine"}:    "v1beta2",
	{Group: "bootstrap.cluster.x-k8s.io", Kind: "SimConfig"}:          "v1alpha1",
	{Group: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane"}: "v1",
}

// references are kinds to refer to; nobody knows the last one.
var references = []schema.GroupKind{
	{Group: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine"},
	{Group: "bootstrap.cluster.x-k8s.io", Kind: "SimConfig"},
	{Group: "controlplane.cluster.x-k8s.io", Kind: "SimControlPlane"},
	{Group: "example.com", Kind: "Uninstalled"},
}

func versions(kind schema.GroupKind) (string, error) { return kindVersions[kind], nil }

func apiVersion(kind schema.GroupKind) string {
	version, known := kindVersions[kind]
	if !known {
		version = clusterv1beta1.UnknownVersion
	}
	return kind.Group + "/" + version
}

// conversionFiller fills references with what may be in them.
func conversionFiller() *randfill.Filler {
	return newFiller(*seed,
		func(ref *clusterv1.ContractVersionedObjectReference, c randfill.Continue) {
			kind := references[c.Intn(len(references))]
			*ref = clusterv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: "n" + c.String(0)}
		},
		func(ref *capiv1.ContractVersionedObjectReference, c randfill.Continue) {
			kind := references[c.Intn(len(references))]
			*ref = capiv1.ContractVersionedObjectReference{APIGroup: kind.Group, Kind: kind.Kind, Name: "n" + c.String(0)}
		},
		func(ref *corev1.ObjectReference, c randfill.Continue) {
			c.FillNoCustom(ref)
			kind := references[c.Intn(len(references))]
			ref.APIVersion, ref.Kind = apiVersion(kind), kind.Kind
		},
		// Objects without members say nothing, and are not kept.
		func(status *clusterv1.MachineDeprecatedStatus, c randfill.Continue) {
			status.V1Beta1 = &clusterv1.MachineV1Beta1DeprecatedStatus{}
			c.Fill(status.V1Beta1)
			status.V1Beta1.FailureMessage = new(c.String(0))
		},
		func(status *clusterv1.ClusterDeprecatedStatus, c randfill.Continue) {
			status.V1Beta1 = &clusterv1.ClusterV1Beta1DeprecatedStatus{}
			c.Fill(status.V1Beta1)
			status.V1Beta1.FailureMessage = new(c.String(0))
		},
		func(status *capiv1.MachineDeprecatedStatus, c randfill.Continue) {
			status.V1Beta1 = &capiv1.MachineV1Beta1DeprecatedStatus{}
			c.Fill(status.V1Beta1)
			status.V1Beta1.FailureMessage = new(c.String(0))
		},
	)
}

// TestConversionLosesNothing converts random objects of v1beta2 to v1beta1, as JSON, and back. All of them come back as
// they were.
func TestConversionLosesNothing(t *testing.T) {
	filler := conversionFiller()
	for i := range *iterations {
		machine, convertedMachine, machineAgain := &clusterv1.Machine{}, &clusterv1beta1.Machine{}, &clusterv1.Machine{}
		filler.Fill(machine)
		before := encode(t, machine)
		if err := clusterv1beta1.MachineFromHub(machine, convertedMachine, versions); err != nil {
			t.Fatal(err)
		}
		convertedMachine = overTheWire(t, convertedMachine)
		if err := clusterv1beta1.MachineToHub(convertedMachine, machineAgain); err != nil {
			t.Fatal(err)
		}
		machineAgain.TypeMeta = machine.TypeMeta
		requireSame(t, i, before, encode(t, machineAgain))

		cluster, convertedCluster, clusterAgain := &clusterv1.Cluster{}, &clusterv1beta1.Cluster{}, &clusterv1.Cluster{}
		filler.Fill(cluster)
		uniqueFailureDomains(cluster)
		before = encode(t, cluster)
		if err := clusterv1beta1.ClusterFromHub(cluster, convertedCluster, versions); err != nil {
			t.Fatal(err)
		}
		convertedCluster = overTheWire(t, convertedCluster)
		if err := clusterv1beta1.ClusterToHub(convertedCluster, clusterAgain); err != nil {
			t.Fatal(err)
		}
		clusterAgain.TypeMeta = cluster.TypeMeta
		requireSame(t, i, before, encode(t, clusterAgain))
	}
}

// TestConversionFromV1Beta1 converts random objects of v1beta1 to v1beta2 and back. Changed come back only, of
// references, what tells no object from another, fractions of seconds, and pointers to nothing.
func TestConversionFromV1Beta1(t *testing.T) {
	filler := conversionFiller()
	for i := range *iterations {
		machine, hub, again := &clusterv1beta1.Machine{}, &clusterv1.Machine{}, &clusterv1beta1.Machine{}
		filler.Fill(machine)
		settleMachine(machine)
		before := encode(t, machine)
		if err := clusterv1beta1.MachineToHub(machine, hub); err != nil {
			t.Fatal(err)
		}
		hub = overTheWire(t, hub)
		if err := clusterv1beta1.MachineFromHub(hub, again, versions); err != nil {
			t.Fatal(err)
		}
		delete(again.Annotations, clusterv1beta1.ConversionDataAnnotation)
		again.TypeMeta = machine.TypeMeta
		requireSame(t, i, before, encode(t, again))
	}
}

// settleMachine gives fields the value with which they come back.
func settleMachine(machine *clusterv1beta1.Machine) {
	spec, status := &machine.Spec, &machine.Status
	settle(&spec.InfrastructureRef, machine.Namespace)
	if spec.Bootstrap.ConfigRef != nil {
		settle(spec.Bootstrap.ConfigRef, machine.Namespace)
	}
	for _, text := range []**string{&spec.Version, &spec.ProviderID, &spec.FailureDomain} {
		if *text != nil && **text == "" {
			*text = nil
		}
	}
	for _, duration := range []*metav1.Duration{spec.NodeDrainTimeout, spec.NodeVolumeDetachTimeout, spec.NodeDeletionTimeout} {
		if duration != nil {
			seconds := min(max(int64(duration.Duration/time.Second), math.MinInt32), math.MaxInt32)
			duration.Duration = time.Duration(seconds) * time.Second
		}
	}
	if status.NodeRef != nil {
		*status.NodeRef = corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "n" + status.NodeRef.Name}
	}
	if status.V1Beta2 != nil && status.V1Beta2.Conditions == nil {
		status.V1Beta2 = nil
	}
}

func settle(ref *corev1.ObjectReference, namespace string) {
	ref.Namespace, ref.UID, ref.ResourceVersion, ref.FieldPath = namespace, "", "", ""
}

// TestConversionIsThatOfClusterAPI compares what we make of random objects with what Cluster API makes of them. The
// functions that it exports leave the references, flags and the annotation to its webhook, which exports nothing, so
// these are taken from ours here and compared with the webhook's rules in package v1beta1.
func TestConversionIsThatOfClusterAPI(t *testing.T) {
	for name, compare := range map[string]func(*testing.T, *randfill.Filler) (ours, theirs any){
		"Machine to v1beta2":   machineToHubBoth,
		"Machine from v1beta2": machineFromHubBoth,
		"Cluster to v1beta2":   clusterToHubBoth,
		"Cluster from v1beta2": clusterFromHubBoth,
	} {
		t.Run(name, func(t *testing.T) {
			filler := conversionFiller()
			for i := range *iterations {
				ours, theirs := compare(t, filler)
				if diff := cmp.Diff(theirs, ours, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("object %d of -seed=%d becomes something else (-theirs +ours):\n%s", i, *seed, diff)
				}
			}
		})
	}
}

func machineToHubBoth(t *testing.T, filler *randfill.Filler) (ours, theirs any) {
	t.Helper()
	in, want, converted := &capiv1beta1.Machine{}, &capiv1.Machine{}, &clusterv1.Machine{}
	filler.Fill(in)
	if err := clusterv1beta1.MachineToHub(as[clusterv1beta1.Machine](t, in), converted); err != nil {
		t.Fatal(err)
	}
	if err := capiv1beta1.Convert_v1beta1_Machine_To_v1beta2_Machine(in, want, nil); err != nil {
		t.Fatal(err)
	}
	got := as[capiv1.Machine](t, converted)
	want.Spec.InfrastructureRef, want.Spec.Bootstrap.ConfigRef = got.Spec.InfrastructureRef, got.Spec.Bootstrap.ConfigRef
	want.Status.Initialization = got.Status.Initialization
	return got, as[capiv1.Machine](t, want)
}

func machineFromHubBoth(t *testing.T, filler *randfill.Filler) (ours, theirs any) {
	t.Helper()
	in, want, converted := &capiv1.Machine{}, &capiv1beta1.Machine{}, &clusterv1beta1.Machine{}
	filler.Fill(in)
	if err := clusterv1beta1.MachineFromHub(as[clusterv1.Machine](t, in), converted, versions); err != nil {
		t.Fatal(err)
	}
	if err := capiv1beta1.Convert_v1beta2_Machine_To_v1beta1_Machine(in, want, nil); err != nil {
		t.Fatal(err)
	}
	requireData(t, in, converted.Annotations, &capiv1.Machine{})
	got := as[capiv1beta1.Machine](t, converted)
	delete(got.Annotations, clusterv1beta1.ConversionDataAnnotation)
	want.Spec.InfrastructureRef, want.Spec.Bootstrap.ConfigRef = got.Spec.InfrastructureRef, got.Spec.Bootstrap.ConfigRef
	for _, text := range []**string{&want.Spec.Version, &want.Spec.ProviderID, &want.Spec.FailureDomain} {
		if *text != nil && **text == "" {
			*text = nil
		}
	}
	return got, as[capiv1beta1.Machine](t, want)
}

func clusterToHubBoth(t *testing.T, filler *randfill.Filler) (ours, theirs any) {
	t.Helper()
	in, want, converted := &capiv1beta1.Cluster{}, &capiv1.Cluster{}, &clusterv1.Cluster{}
	filler.Fill(in)
	if err := clusterv1beta1.ClusterToHub(as[clusterv1beta1.Cluster](t, in), converted); err != nil {
		t.Fatal(err)
	}
	if err := capiv1beta1.Convert_v1beta1_Cluster_To_v1beta2_Cluster(in, want, nil); err != nil {
		t.Fatal(err)
	}
	got := as[capiv1.Cluster](t, converted)
	want.Spec.InfrastructureRef, want.Spec.ControlPlaneRef, want.Spec.Paused = got.Spec.InfrastructureRef, got.Spec.ControlPlaneRef, got.Spec.Paused
	want.Status.Initialization = got.Status.Initialization
	return got, as[capiv1.Cluster](t, want)
}

func clusterFromHubBoth(t *testing.T, filler *randfill.Filler) (ours, theirs any) {
	t.Helper()
	in, want, converted := &capiv1.Cluster{}, &capiv1beta1.Cluster{}, &clusterv1beta1.Cluster{}
	filler.Fill(in)
	if err := clusterv1beta1.ClusterFromHub(as[clusterv1.Cluster](t, in), converted, versions); err != nil {
		t.Fatal(err)
	}
	if err := capiv1beta1.Convert_v1beta2_Cluster_To_v1beta1_Cluster(in, want, nil); err != nil {
		t.Fatal(err)
	}
	requireData(t, in, converted.Annotations, &capiv1.Cluster{})
	got := as[capiv1beta1.Cluster](t, converted)
	delete(got.Annotations, clusterv1beta1.ConversionDataAnnotation)
	want.Spec.InfrastructureRef, want.Spec.ControlPlaneRef = got.Spec.InfrastructureRef, got.Spec.ControlPlaneRef
	if network := want.Spec.ClusterNetwork; network != nil && network.APIServerPort != nil && *network.APIServerPort == 0 {
		network.APIServerPort = nil
	}
	want = as[capiv1beta1.Cluster](t, want)
	for _, checks := range healthChecks(want.Spec.Topology) {
		if checks.RemediationTemplate != nil {
			checks.RemediationTemplate.Namespace = in.Namespace
		}
	}
	dropEmptyFailureDomains(want.Spec.Topology)
	return got, want
}

func healthChecks(topology *capiv1beta1.Topology) []*capiv1beta1.MachineHealthCheckTopology {
	if topology == nil {
		return nil
	}
	var checks []*capiv1beta1.MachineHealthCheckTopology
	if topology.ControlPlane.MachineHealthCheck != nil {
		checks = append(checks, topology.ControlPlane.MachineHealthCheck)
	}
	if topology.Workers != nil {
		for _, deployment := range topology.Workers.MachineDeployments {
			if deployment.MachineHealthCheck != nil {
				checks = append(checks, deployment.MachineHealthCheck)
			}
		}
	}
	return checks
}

func dropEmptyFailureDomains(topology *capiv1beta1.Topology) {
	if topology == nil || topology.Workers == nil {
		return
	}
	for i, deployment := range topology.Workers.MachineDeployments {
		if deployment.FailureDomain != nil && *deployment.FailureDomain == "" {
			topology.Workers.MachineDeployments[i].FailureDomain = nil
		}
	}
}

// requireData requires that the annotation is for Cluster API what it would have written itself.
func requireData(t *testing.T, hub metav1.Object, annotations map[string]string, into metav1.Object) {
	t.Helper()
	decode(t, []byte(annotations[clusterv1beta1.ConversionDataAnnotation]), into)
	want, got := generic(t, encode(t, hub)).(map[string]any), generic(t, encode(t, into)).(map[string]any)
	delete(want, "metadata")
	delete(got, "metadata")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("annotation of -seed=%d (-object +annotation):\n%s", *seed, diff)
	}
}

// TestWhatClusterAPIRemembersIsRestored takes an annotation as Cluster API's webhook writes it.
func TestWhatClusterAPIRemembersIsRestored(t *testing.T) {
	filler := conversionFiller()
	for i := range *iterations {
		hub, spoke := &capiv1.Machine{}, &capiv1beta1.Machine{}
		filler.Fill(hub)
		if err := capiv1beta1.Convert_v1beta2_Machine_To_v1beta1_Machine(hub, spoke, nil); err != nil {
			t.Fatal(err)
		}
		ref := func(ref capiv1.ContractVersionedObjectReference) corev1.ObjectReference {
			kind := schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}
			return corev1.ObjectReference{APIVersion: apiVersion(kind), Kind: ref.Kind, Name: ref.Name, Namespace: hub.Namespace}
		}
		spoke.Spec.InfrastructureRef = ref(hub.Spec.InfrastructureRef)
		if hub.Spec.Bootstrap.ConfigRef.IsDefined() {
			spoke.Spec.Bootstrap.ConfigRef = new(ref(hub.Spec.Bootstrap.ConfigRef))
		}
		bare := hub.DeepCopy()
		bare.ObjectMeta = metav1.ObjectMeta{}
		data := bytes.Replace(encode(t, bare), []byte(`"metadata":{},`), nil, 1)
		annotated := as[clusterv1beta1.Machine](t, spoke)
		metav1.SetMetaDataAnnotation(&annotated.ObjectMeta, clusterv1beta1.ConversionDataAnnotation, string(data))

		restored := &clusterv1.Machine{}
		if err := clusterv1beta1.MachineToHub(annotated, restored); err != nil {
			t.Fatal(err)
		}
		restored.TypeMeta = hub.TypeMeta
		requireSame(t, i, encode(t, hub), encode(t, restored))
	}
}

// uniqueFailureDomains gives failure domains names that differ, as the schema demands.
func uniqueFailureDomains(cluster *clusterv1.Cluster) {
	for i := range cluster.Status.FailureDomains {
		cluster.Status.FailureDomains[i].Name = strings.Repeat("x", i+1)
	}
}

// as reads the JSON of an object as another type.
func as[T any](t *testing.T, object any) *T {
	t.Helper()
	out := new(T)
	decode(t, encode(t, object), out)
	return out
}

// overTheWire returns what somebody else reads of an object.
func overTheWire[T any](t *testing.T, object *T) *T {
	t.Helper()
	return as[T](t, object)
}

func requireSame(t *testing.T, i int, before, after []byte) {
	t.Helper()
	if diff := cmp.Diff(generic(t, before), generic(t, after), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("object %d of -seed=%d comes back different (-before +after):\n%s", i, *seed, diff)
	}
}

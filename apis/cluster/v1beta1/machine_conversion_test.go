// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

const (
	infrastructure = "infrastructure.cluster.x-k8s.io"
	bootstrap      = "bootstrap.cluster.x-k8s.io"
)

// known is an installation with one provider of each group.
func known(kind schema.GroupKind) (string, error) {
	return map[schema.GroupKind]string{
		{Group: infrastructure, Kind: "SimMachine"}: "v1beta1",
		{Group: infrastructure, Kind: "SimCluster"}: "v1beta1",
		{Group: bootstrap, Kind: "SimConfig"}:       "v1alpha1",
	}[kind], nil
}

func machineToHub(t *testing.T, in *clusterv1beta1.Machine) *clusterv1.Machine {
	t.Helper()
	before, out := in.DeepCopy(), &clusterv1.Machine{}
	if err := clusterv1beta1.MachineToHub(in, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the conversion has changed what it read (-before +after):\n%s", diff)
	}
	return out
}

func machineFromHub(t *testing.T, in *clusterv1.Machine) *clusterv1beta1.Machine {
	t.Helper()
	before, out := in.DeepCopy(), &clusterv1beta1.Machine{}
	if err := clusterv1beta1.MachineFromHub(in, out, known); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the conversion has changed what it read (-before +after):\n%s", diff)
	}
	return out
}

func TestReferenceToHub(t *testing.T) {
	for name, test := range map[string]struct {
		apiVersion string
		want       string
		problem    string
	}{
		"group and version":        {apiVersion: infrastructure + "/v1beta1", want: infrastructure},
		"version that is unknown":  {apiVersion: infrastructure + "/" + clusterv1beta1.UnknownVersion, want: infrastructure},
		"group without version":    {apiVersion: infrastructure + "/", want: infrastructure},
		"version of the core":      {apiVersion: "v1", want: ""},
		"nothing":                  {apiVersion: "", want: ""},
		"more than can be a group": {apiVersion: "a/b/c", problem: `apiVersion: expected a group and a version, as in infrastructure.cluster.x-k8s.io/v1beta2, found "a/b/c"`},
	} {
		t.Run(name, func(t *testing.T) {
			reference := corev1.ObjectReference{
				APIVersion: test.apiVersion, Kind: "SimMachine", Name: "m", Namespace: "elsewhere", UID: "1", ResourceVersion: "2", FieldPath: "f",
			}
			want := clusterv1.ContractVersionedObjectReference{APIGroup: test.want, Kind: "SimMachine", Name: "m"}
			for path, spec := range map[string]clusterv1beta1.MachineSpec{
				"spec.infrastructureRef":   {InfrastructureRef: reference},
				"spec.bootstrap.configRef": {Bootstrap: clusterv1beta1.Bootstrap{ConfigRef: &reference}},
			} {
				in, out := &clusterv1beta1.Machine{Spec: spec}, &clusterv1.Machine{}
				err := clusterv1beta1.MachineToHub(in, out)
				if test.problem != "" {
					if err == nil || err.Error() != path+"."+test.problem {
						t.Errorf("%s: error %v, want %s", path, err, test.problem)
					}
					continue
				}
				got := out.Spec.InfrastructureRef
				if path == "spec.bootstrap.configRef" {
					got = out.Spec.Bootstrap.ConfigRef
				}
				if err != nil || got != want {
					t.Errorf("%s = %v, %v, want %v", path, got, err, want)
				}
			}
		})
	}
}

func TestReferenceFromHub(t *testing.T) {
	for name, test := range map[string]struct {
		hub  clusterv1.ContractVersionedObjectReference
		want corev1.ObjectReference
	}{
		"kind that is known": {
			hub:  clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "SimMachine", Name: "m"},
			want: corev1.ObjectReference{APIVersion: infrastructure + "/v1beta1", Kind: "SimMachine", Name: "m", Namespace: "ns"},
		},
		"kind that nobody knows": {
			hub:  clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "OtherMachine", Name: "m"},
			want: corev1.ObjectReference{APIVersion: infrastructure + "/unknown", Kind: "OtherMachine", Name: "m", Namespace: "ns"},
		},
		"no group, as v1beta1 allows": {
			hub:  clusterv1.ContractVersionedObjectReference{Kind: "SimMachine", Name: "m"},
			want: corev1.ObjectReference{Kind: "SimMachine", Name: "m", Namespace: "ns"},
		},
		"no kind": {
			hub:  clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Name: "m"},
			want: corev1.ObjectReference{APIVersion: infrastructure + "/unknown", Name: "m", Namespace: "ns"},
		},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			hub := &clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns"},
				Spec:       clusterv1.MachineSpec{InfrastructureRef: test.hub, Bootstrap: clusterv1.Bootstrap{ConfigRef: test.hub}},
			}
			spoke := machineFromHub(t, hub)
			if got := spoke.Spec.InfrastructureRef; got != test.want {
				t.Errorf("infrastructureRef = %v, want %v", got, test.want)
			}
			if got := spoke.Spec.Bootstrap.ConfigRef; test.hub.IsDefined() && *got != test.want || !test.hub.IsDefined() && got != nil {
				t.Errorf("configRef = %v, want %v", got, test.want)
			}
			if diff := cmp.Diff(hub.Spec, machineToHub(t, spoke).Spec); diff != "" {
				t.Errorf("and back (-before +after):\n%s", diff)
			}
		})
	}
}

func TestKindThatCannotBeLookedUp(t *testing.T) {
	hub := &clusterv1.Machine{Spec: clusterv1.MachineSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "SimMachine", Name: "m"},
	}}
	broken := errors.New("the cache is not started")
	err := clusterv1beta1.MachineFromHub(hub, &clusterv1beta1.Machine{}, func(schema.GroupKind) (string, error) { return "", broken })
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "SimMachine."+infrastructure) {
		t.Errorf("error %v, want one that names the kind, and %v", err, broken)
	}
}

func TestDurations(t *testing.T) {
	for name, test := range map[string]struct {
		duration *metav1.Duration
		seconds  *int32
		back     *metav1.Duration
	}{
		"not set":      {},
		"zero":         {&metav1.Duration{}, new(int32(0)), &metav1.Duration{}},
		"minutes":      {&metav1.Duration{Duration: 10 * time.Minute}, new(int32(600)), &metav1.Duration{Duration: 10 * time.Minute}},
		"fraction":     {&metav1.Duration{Duration: 1999 * time.Millisecond}, new(int32(1)), &metav1.Duration{Duration: time.Second}},
		"negative":     {&metav1.Duration{Duration: -1999 * time.Millisecond}, new(int32(-1)), &metav1.Duration{Duration: -time.Second}},
		"more than is": {&metav1.Duration{Duration: math.MaxInt64}, new(int32(math.MaxInt32)), &metav1.Duration{Duration: math.MaxInt32 * time.Second}},
		"less than is": {&metav1.Duration{Duration: math.MinInt64}, new(int32(math.MinInt32)), &metav1.Duration{Duration: math.MinInt32 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			spoke := &clusterv1beta1.Machine{Spec: clusterv1beta1.MachineSpec{
				NodeDrainTimeout: test.duration, NodeVolumeDetachTimeout: test.duration, NodeDeletionTimeout: test.duration,
			}}
			hub := machineToHub(t, spoke)
			want := clusterv1.MachineDeletionSpec{
				NodeDrainTimeoutSeconds: test.seconds, NodeVolumeDetachTimeoutSeconds: test.seconds, NodeDeletionTimeoutSeconds: test.seconds,
			}
			if diff := cmp.Diff(want, hub.Spec.Deletion); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			back := machineFromHub(t, hub).Spec
			if diff := cmp.Diff([]*metav1.Duration{test.back, test.back, test.back},
				[]*metav1.Duration{back.NodeDrainTimeout, back.NodeVolumeDetachTimeout, back.NodeDeletionTimeout}); diff != "" {
				t.Errorf("and back (-want +got):\n%s", diff)
			}
		})
	}
}

// dataByClusterAPI is the annotation in what Cluster API v1.14 answers to a client of v1beta1.
const dataByClusterAPI = `{"kind":"Machine","apiVersion":"cluster.x-k8s.io/v1beta2","spec":{"clusterName":"sim",` +
	`"bootstrap":{"dataSecretName":"data"},"infrastructureRef":{"kind":"SimMachine","name":"m","apiGroup":"infrastructure.cluster.x-k8s.io"},` +
	`"minReadySeconds":30},"status":{"initialization":{"infrastructureProvisioned":false},"failureDomain":"zone-a","phase":"Updating"}}`

func TestWhatV1Beta1LacksIsRestored(t *testing.T) {
	annotations := map[string]string{clusterv1beta1.ConversionDataAnnotation: dataByClusterAPI, "other": "stays"}
	spoke := &clusterv1beta1.Machine{
		ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
		Status:     clusterv1beta1.MachineStatus{Phase: "Running"},
	}
	hub := machineToHub(t, spoke)
	if diff := cmp.Diff(map[string]string{"other": "stays"}, hub.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got := hub.Spec.MinReadySeconds; got == nil || *got != 30 {
		t.Errorf("minReadySeconds = %v, want 30", got)
	}
	want := clusterv1.MachineStatus{
		Initialization: clusterv1.MachineInitializationStatus{InfrastructureProvisioned: new(false)},
		FailureDomain:  "zone-a",
		Phase:          "Updating",
	}
	if diff := cmp.Diff(want, hub.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}

	spoke.Status.InfrastructureReady = true // by a client that knows better than what was remembered
	if got := machineToHub(t, spoke).Status.Initialization.InfrastructureProvisioned; got == nil || !*got {
		t.Errorf("infrastructureProvisioned = %v, want true", got)
	}
}

func TestNothingIsRestoredWithoutTheAnnotation(t *testing.T) {
	hub := machineToHub(t, &clusterv1beta1.Machine{Status: clusterv1beta1.MachineStatus{Phase: "Failed"}})
	if diff := cmp.Diff(clusterv1.MachineStatus{Phase: "Failed"}, hub.Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnnotationThatCannotBeRead(t *testing.T) {
	for _, data := range []string{"", "{", "[]", `{"spec":{"minReadySeconds":"30"}}`} {
		spoke := &clusterv1beta1.Machine{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{clusterv1beta1.ConversionDataAnnotation: data},
		}}
		err := clusterv1beta1.MachineToHub(spoke, &clusterv1.Machine{})
		if err == nil || !strings.HasPrefix(err.Error(), "metadata.annotations[cluster.x-k8s.io/conversion-data]: expected") {
			t.Errorf("%q: error %v, want one about the annotation", data, err)
		}
	}
}

func TestPhaseUpdatingIsShownAsRunning(t *testing.T) {
	hub := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"other": "stays"}},
		Status:     clusterv1.MachineStatus{Phase: string(clusterv1.MachinePhaseUpdating)},
	}
	spoke := machineFromHub(t, hub)
	if spoke.Status.Phase != "Running" {
		t.Errorf("phase = %s, want Running", spoke.Status.Phase)
	}
	if diff := cmp.Diff(hub, machineToHub(t, spoke)); diff != "" {
		t.Errorf("and back (-before +after):\n%s", diff)
	}
}

func TestStatusMoves(t *testing.T) {
	since := metav1.NewTime(time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC))
	hub := clusterv1.MachineStatus{
		Conditions:     []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: since}},
		Initialization: clusterv1.MachineInitializationStatus{InfrastructureProvisioned: new(true), BootstrapDataSecretCreated: new(true)},
		NodeRef:        clusterv1.MachineNodeReference{Name: "node-0"},
		LastUpdated:    since,
		Deletion:       &clusterv1.MachineDeletionStatus{NodeDrainStartTime: since},
		Deprecated: &clusterv1.MachineDeprecatedStatus{V1Beta1: &clusterv1.MachineV1Beta1DeprecatedStatus{
			Conditions:    clusterv1.Conditions{{Type: "Ready", Status: corev1.ConditionTrue, LastTransitionTime: since}},
			FailureReason: new(clusterv1.CreateMachineError), FailureMessage: new("out of stock"),
		}},
	}
	spoke := clusterv1beta1.MachineStatus{
		NodeRef:       &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "node-0"},
		LastUpdated:   &since,
		FailureReason: new(clusterv1.CreateMachineError), FailureMessage: new("out of stock"),
		BootstrapReady: true, InfrastructureReady: true,
		Conditions: hub.Deprecated.V1Beta1.Conditions,
		Deletion:   &clusterv1beta1.MachineDeletionStatus{NodeDrainStartTime: &since},
		V1Beta2:    &clusterv1beta1.MachineV1Beta2Status{Conditions: hub.Conditions},
	}
	if diff := cmp.Diff(spoke, machineFromHub(t, &clusterv1.Machine{Status: hub}).Status); diff != "" {
		t.Errorf("from v1beta2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hub, machineToHub(t, &clusterv1beta1.Machine{Status: spoke}).Status); diff != "" {
		t.Errorf("to v1beta2 (-want +got):\n%s", diff)
	}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/apis/contract/crdcheck"
	"github.com/machinist-dev/machinist/examples/contract/facade"
	"github.com/machinist-dev/machinist/examples/contract/facadetest"
	"github.com/machinist-dev/machinist/examples/contract/loadbalancer"
)

var (
	versions  = []loadbalancer.Version{loadbalancer.V1, loadbalancer.V1Beta1, loadbalancer.V1Alpha1}
	noon      = metav1.NewTime(time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC))
	minute    = metav1.Duration{Duration: time.Minute}
	check     = loadbalancer.HealthCheck{Type: "HTTP", Path: "/healthz", Interval: minute}
	listeners = []loadbalancer.Listener{
		{
			Name: "https", Port: 443, Weight: 1 << 40, Encrypted: true, ServerNames: []string{"a.example.com"},
			Headers: map[string]string{"X-By": "example"}, IdleTimeout: minute, OpenSince: noon, HealthCheck: check,
			Backends: []loadbalancer.Backend{{Address: "10.0.0.1"}, {Address: "10.0.0.2"}},
		},
		{Name: "http", Port: 80},
	}
)

func full(version loadbalancer.Version) facadetest.LoadBalancerBuilder {
	b := facadetest.NewLoadBalancer(version).WithName("front").WithNamespace("default").
		WithHostname("front.example.com").WithReady(true).WithMode("LeastConnections").WithReplicas(3).
		WithIdleTimeout(minute).WithCertificateExpiry(noon).WithZones([]string{"a", "b"}).WithTags(map[string]string{"team": "web"}).
		WithListeners(listeners).WithTier("gold").WithMaintenance(true).WithMaintenanceEnd(noon).WithDrainTimeout(minute)
	if version != loadbalancer.V1Alpha1 {
		b = b.WithBytesServed(1 << 40).WithHealthCheck(check)
	}
	return b
}

// value drops the second result of a getter, after making sure that it is what it should be.
func value[T any](t *testing.T, name string, wantFound bool) func(T, bool) any {
	t.Helper()
	return func(v T, found bool) any {
		if found != wantFound {
			t.Errorf("%s: found = %t", name, found)
		}
		return v
	}
}

func TestEveryTypeReadsBack(t *testing.T) {
	for _, version := range versions {
		t.Run(string(version), func(t *testing.T) {
			lb, err := facade.WrapLoadBalancer(full(version).Build(), version)
			if err != nil {
				t.Fatal(err)
			}
			isNew := version != loadbalancer.V1Alpha1
			bytesServed, healthCheck := int64(1<<40), check
			if !isNew {
				bytesServed, healthCheck = 0, loadbalancer.HealthCheck{}
			}
			for _, field := range []struct {
				name      string
				got, want any
			}{
				{"Hostname", value[string](t, "Hostname", true)(lb.Hostname()), "front.example.com"},
				{"Ready", lb.Ready(), true},
				{"Mode", lb.Mode(), "LeastConnections"},
				{"Replicas", lb.Replicas(), int32(3)},
				{"BytesServed", value[int64](t, "BytesServed", isNew)(lb.BytesServed()), bytesServed},
				{"IdleTimeout", value[metav1.Duration](t, "IdleTimeout", true)(lb.IdleTimeout()), minute},
				{"CertificateExpiry", value[metav1.Time](t, "CertificateExpiry", true)(lb.CertificateExpiry()), noon},
				{"Zones", value[[]string](t, "Zones", true)(lb.Zones()), []string{"a", "b"}},
				{"Tags", value[map[string]string](t, "Tags", true)(lb.Tags()), map[string]string{"team": "web"}},
				{"HealthCheck", value[loadbalancer.HealthCheck](t, "HealthCheck", isNew)(lb.HealthCheck()), healthCheck},
				{"Listeners", value[[]loadbalancer.Listener](t, "Listeners", true)(lb.Listeners()), listeners},
				{"OpenPorts", value[[]loadbalancer.OpenPort](t, "OpenPorts", true)(lb.OpenPorts()), []loadbalancer.OpenPort{{Name: "https"}, {Name: "http"}}},
				{"Tier", lb.Tier(), "gold"},
				{"Maintenance", lb.Maintenance(), true},
				{"MaintenanceEnd", value[metav1.Time](t, "MaintenanceEnd", true)(lb.MaintenanceEnd()), noon},
				{"DrainTimeout", value[metav1.Duration](t, "DrainTimeout", true)(lb.DrainTimeout()), minute},
			} {
				if diff := cmp.Diff(field.want, field.got); diff != "" {
					t.Errorf("%s, -want +got:\n%s", field.name, diff)
				}
			}
			if findings := lb.Findings(); findings != nil {
				t.Errorf("findings: %v", findings)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	lb, err := facade.WrapLoadBalancer(&unstructured.Unstructured{}, loadbalancer.V1)
	if err != nil || lb.Ready() || lb.Mode() != "RoundRobin" || lb.Replicas() != 1 || lb.Tier() != "standard" || lb.Maintenance() {
		t.Errorf("got %t, %s, %d, %s, %t, %v", lb.Ready(), lb.Mode(), lb.Replicas(), lb.Tier(), lb.Maintenance(), err)
	}
}

// The nested errors name the whole way to what is wrong.
func TestErrors(t *testing.T) {
	obj := facadetest.NewLoadBalancer(loadbalancer.V1).
		WithValue("Random", "spec", "mode").
		WithValue(int64(1)<<40, "spec", "replicas").
		WithValue("many", "status", "statistics", "bytesServed").
		WithValue("60", "spec", "idleTimeout").
		WithValue([]any{map[string]any{"name": "x", "port": int64(1), "healthCheck": map[string]any{"type": "ICMP"}}}, "spec", "listeners").
		Build()
	lb, err := facade.WrapLoadBalancer(obj, loadbalancer.V1)
	want := map[string]string{
		"Mode":        `.spec.mode: expected one of RoundRobin, LeastConnections, found string "Random" (contract version v1)`,
		"Replicas":    `.spec.replicas: expected 32-bit integer, found number 1099511627776 (contract version v1)`,
		"IdleTimeout": `.spec.idleTimeout: expected duration, found string "60" (contract version v1)`,
		"Listeners":   `.spec.listeners[0].healthCheck.type: expected one of TCP, HTTP, found string "ICMP" (contract version v1)`,
	}
	got := map[string]string{}
	fieldErrors, _ := errors.AsType[accessor.FieldErrors](err)
	for _, fieldError := range fieldErrors {
		got[fieldError.Field] = fieldError.Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Unusable values read as absent; the lenient readers of the same places have no error.
	if _, found := lb.BytesServed(); found || lb.Mode() != "RoundRobin" || lb.Replicas() != 1 {
		t.Error("an unusable value was read")
	}
	if ports, found := lb.OpenPorts(); !found || !slices.Equal(ports, []loadbalancer.OpenPort{{Name: "x"}}) {
		t.Errorf("got %v, %t", ports, found)
	}
}

func TestFindings(t *testing.T) {
	old := full(loadbalancer.V1Alpha1).Build()
	lb, err := facade.WrapLoadBalancer(old, loadbalancer.V1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Hostname is not at .status.hostname, where contract version v1 has it, but at .spec.host, where contract version v1alpha1 has it",
		"Ready is not at .status.state.ready, where contract version v1 has it, but at .status.ready, where contract version v1beta1 has it",
	}
	var got []string
	for _, finding := range lb.Findings() {
		got = append(got, finding.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPruneAndCompare(t *testing.T) {
	for _, version := range versions {
		obj := full(version).WithValue("noise", "status", "noise").Build()
		pruned := obj.DeepCopy()
		facade.PruneLoadBalancer(pruned)
		if _, found, _ := unstructured.NestedString(pruned.Object, "status", "noise"); found || !facade.LoadBalancerContractEqual(obj, pruned) {
			t.Errorf("%s: found = %t", version, found)
		}
		other := full(version).WithZones([]string{"c"}).Build()
		if facade.LoadBalancerContractEqual(obj, other) {
			t.Errorf("%s: a change of zones was not seen", version)
		}
	}
	if paths := facade.AddressPoolPaths(); len(paths) != 1 || paths[0].String() != "status.free" {
		t.Errorf("got %v", paths)
	}
}

// The CRD checks know the label prefix and the versions of this contract and nothing of any other.
func TestCheckCRD(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"kind":     "CustomResourceDefinition",
		"metadata": map[string]any{"name": "anything.example.com", "labels": map[string]any{"contract.loadbalancer.example.com/v1beta1": "v7"}},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"kind": "EdgeProxy"},
			"versions": []any{map[string]any{"name": "v7", "served": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": map[string]any{
				"spec":   map[string]any{"properties": map[string]any{"listeners": map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}},
				"status": map[string]any{"properties": map[string]any{"ready": map[string]any{"type": "boolean"}, "free": map[string]any{"type": "string"}}},
			}}}}},
		},
	}}
	var got []crdcheck.Code
	for _, finding := range facade.CheckLoadBalancerCRD(crd) {
		got = append(got, finding.Code)
	}
	want := []crdcheck.Code{crdcheck.Scope, crdcheck.NoStatusSubresource, crdcheck.FieldMissing, crdcheck.FieldMissing, crdcheck.FieldMissing}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", facade.CheckLoadBalancerCRD(crd))
	}
	if findings := facade.CheckAddressPoolCRD(crd); len(findings) != 1 || findings[0].Path != "status.free" || findings[0].ContractVersion != "v1beta1" {
		t.Errorf("got %v", findings)
	}
}

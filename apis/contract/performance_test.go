// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/generated/facade"
)

// largeInfraMachine is an object of about 20 KB, as a cloud provider writes it: most of it is of no interest to the
// contract.
func largeInfraMachine(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	obj := parse(tb, `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"FooMachine",
		"metadata":{"name":"md-0-abcde-12345","namespace":"default","uid":"b2f9c3f6-46d4-4df0-8a8d-d43c9a0d7e02",
			"resourceVersion":"123456","generation":3,"creationTimestamp":"2026-08-03T09:14:02Z",
			"labels":{"cluster.x-k8s.io/cluster-name":"prod","cluster.x-k8s.io/set-name":"md-0-abcde","cluster.x-k8s.io/deployment-name":"md-0"},
			"annotations":{"cluster.x-k8s.io/cloned-from-name":"md-0","cluster.x-k8s.io/cloned-from-groupkind":"FooMachineTemplate.infrastructure.cluster.x-k8s.io"},
			"finalizers":["foomachine.infrastructure.cluster.x-k8s.io"],
			"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"md-0-abcde-12345",
				"uid":"8a2a51ea-5a3f-4b02-9a8e-4c0a6e5f1f01","controller":true,"blockOwnerDeletion":true}]},
		"spec":{"providerID":"foo:///zone-a/i-0123456789","instanceType":"large","image":{"id":"ami-1"},"cloudInit":{}},
		"status":{"initialization":{"provisioned":true},"failureDomain":"zone-a","instanceState":"running",
			"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalDNS","address":"ip-10-0-0-1.internal"}],
			"conditions":[
				{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-08-03T09:14:41Z","observedGeneration":3},
				{"type":"InstanceReady","status":"True","reason":"Running","message":"","lastTransitionTime":"2026-08-03T09:14:12Z","observedGeneration":3},
				{"type":"Paused","status":"False","reason":"NotPaused","message":"","lastTransitionTime":"2026-08-03T09:14:02Z","observedGeneration":3}]}}`)
	spec := obj.Object["spec"].(map[string]any)
	disks := make([]any, 80)
	for i := range disks {
		disks[i] = map[string]any{
			"name": fmt.Sprintf("disk-%02d", i), "sizeGiB": int64(i), "encrypted": true,
			"keyID": fmt.Sprintf("arn:foo:kms:region-1:000000000000:key/%036d", i), "tags": map[string]any{"purpose": "data", "index": fmt.Sprint(i)},
		}
	}
	spec["disks"] = disks
	managed := map[string]any{}
	for i := range 80 {
		managed[fmt.Sprintf(`k:{"name":"disk-%02d"}`, i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:keyID": map[string]any{}}
	}
	obj.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "foo", "fieldsV1": map[string]any{"f:spec": managed}}}
	return obj
}

func TestLargeInfraMachineIsRealistic(t *testing.T) {
	obj := largeInfraMachine(t)
	source, err := json.Marshal(obj.Object)
	if err != nil || len(source) < 18<<10 || len(source) > 22<<10 {
		t.Errorf("%d bytes, %v", len(source), err)
	}
	facade.PruneInfraMachine(obj)
	pruned, err := json.Marshal(obj.Object)
	if err != nil || len(pruned) > 2<<10 {
		t.Errorf("%d bytes after pruning, %v", len(pruned), err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	obj := largeInfraMachine(t)
	m, err := facade.WrapInfraMachine(obj, contract.V1Beta2)
	if err != nil {
		t.Fatal(err)
	}
	pruned := obj.DeepCopy()
	facade.PruneInfraMachine(pruned)
	for name, read := range map[string]func(){
		"scalar getters": func() {
			_, _ = m.ProviderID()
			_, _ = m.FailureDomain()
			_, _ = m.DeprecatedFailureDomain()
			_, _ = m.FailureReason()
			_, _ = m.FailureMessage()
			_, _ = m.ClusterName()
			_, _ = m.WatchFilter()
			_, _, _, _ = m.Provisioned(), m.Interruptible(), m.Paused(), m.UpdateInProgress()
		},
		"wrapping":  func() { _, _ = facade.WrapInfraMachine(obj, contract.V1Beta2) },
		"comparing": func() { facade.InfraMachineContractEqual(obj, pruned) },
	} {
		if allocations := testing.AllocsPerRun(100, read); allocations > 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

func BenchmarkGetter(b *testing.B) {
	m, err := facade.WrapInfraMachine(largeInfraMachine(b), contract.V1Beta2)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	length := 0
	for b.Loop() {
		id, _ := m.ProviderID()
		length += len(id)
	}
}

func BenchmarkListGetter(b *testing.B) {
	m, err := facade.WrapInfraMachine(largeInfraMachine(b), contract.V1Beta2)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Conditions()
	}
}

func BenchmarkWrap(b *testing.B) {
	for _, version := range contract.Versions() {
		b.Run(string(version), func(b *testing.B) {
			obj := largeInfraMachine(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := facade.WrapInfraMachine(obj, version); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPrune(b *testing.B) {
	tree := largeInfraMachine(b).Object
	b.ReportAllocs()
	for b.Loop() {
		facade.PruneInfraMachine(&unstructured.Unstructured{Object: tree})
	}
}

func BenchmarkContractEqual(b *testing.B) {
	old, current := largeInfraMachine(b), largeInfraMachine(b)
	current.SetResourceVersion("123457")
	b.ReportAllocs()
	for b.Loop() {
		if !facade.InfraMachineContractEqual(old, current) {
			b.Fatal("differ")
		}
	}
}

// BenchmarkPruneJSON compares pruning JSON as it is with decoding, pruning and encoding. "times" says how often the one goes
// into the other.
func BenchmarkPruneJSON(b *testing.B) {
	source, err := json.Marshal(largeInfraMachine(b).Object)
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 100
	begin := time.Now()
	for range rounds {
		obj := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(source, &obj.Object); err != nil {
			b.Fatal(err)
		}
		facade.PruneInfraMachine(obj)
		if _, err := utiljson.Marshal(obj.Object); err != nil {
			b.Fatal(err)
		}
	}
	decoded := float64(time.Since(begin)) / rounds
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := facade.PruneInfraMachineJSON(nil, source); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(decoded, "decoded-ns/op")
	b.ReportMetric(decoded*float64(b.N)/float64(b.Elapsed()), "times")
}

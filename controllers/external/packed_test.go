// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/generated/facade"
)

// keptMetadata is what the design names, besides the labels and annotations of the contract.
var keptMetadata = []string{
	"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "finalizers", "ownerReferences",
}

var _ = DescribeTable("What is kept of a provider object is what the contract names, and nothing else",
	func(role *Role, paths []accessor.Path) {
		object := objectOf(20_000)
		for _, path := range paths {
			Expect(unstructured.SetNestedField(object.Object, "at "+path.String(), path...)).To(Succeed())
			beside := slices.Clone(path)
			beside[len(beside)-1] += "-of-the-provider"
			Expect(unstructured.SetNestedField(object.Object, "not in the contract", beside...)).To(Succeed())
		}
		p, err := packBoth(role, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(p.json)).To(BeNumerically("<", 2048))

		kept := []string{"apiVersion", "kind"}
		for _, key := range keptMetadata {
			kept = append(kept, "metadata."+key)
		}
		for _, path := range paths {
			kept = append(kept, path.String())
		}
		Expect(leavesOf(p)).To(ConsistOf(kept))
		for _, path := range paths {
			Expect(valueAt(p, path...)).To(Equal("at " + path.String()))
		}
	},
	Entry("InfraMachine", InfraMachine, facade.InfraMachinePaths()),
	Entry("BootstrapConfig", BootstrapConfig, facade.BootstrapConfigPaths()),
	Entry("ControlPlane", ControlPlane, facade.ControlPlanePaths()),
)

var _ = It("Finalizers and owner references are kept whole, as they were", func() {
	p, err := packBoth(InfraMachine, objectOf(100))
	Expect(err).NotTo(HaveOccurred())
	Expect(valueAt(p, "metadata", "finalizers")).To(Equal([]any{"provider.example.org/one", "backup.example.org/two"}))
	Expect(valueAt(p, "metadata", "ownerReferences")).To(Equal([]any{
		map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "u-1", "controller": true, "blockOwnerDeletion": true},
		map[string]any{"apiVersion": "example.org/v1", "kind": "Audit", "name": "a", "uid": "u-2"},
	}))
})

// A getter can't report a type error about a value that isn't there.
var _ = DescribeTable("A value of the wrong type at any path of the contract is kept",
	func(wrong any) {
		for role, paths := range map[*Role][]accessor.Path{InfraMachine: facade.InfraMachinePaths(), BootstrapConfig: facade.BootstrapConfigPaths(), ControlPlane: facade.ControlPlanePaths()} {
			for _, path := range paths {
				object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Any"}}
				Expect(unstructured.SetNestedField(object.Object, wrong, path...)).To(Succeed())
				p, err := packBoth(role, object)
				Expect(err).NotTo(HaveOccurred())
				Expect(valueAt(p, path...)).To(Equal(wrong), "%s of %s", path, role)
			}
		}
	},
	Entry("an integer, which does not become a float", int64(9007199254740993)),
	Entry("a float", 1.5),
	Entry("a boolean", true),
	Entry("a string", "text"),
	Entry("a list of scalars", []any{"a", int64(1), true}),
	Entry("an empty list", []any{}),
)

var _ = DescribeTable("A parent of the wrong type is kept",
	func(path ...string) {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Any"}}
		Expect(unstructured.SetNestedField(object.Object, "no object", path...)).To(Succeed())
		p, err := packBoth(InfraMachine, object)
		Expect(err).NotTo(HaveOccurred())
		Expect(valueAt(p, path...)).To(Equal("no object"))
	},
	Entry(nil, "spec"),
	Entry(nil, "status"),
	Entry(nil, "status", "initialization"),
	Entry(nil, "status", "v1beta2"),
	Entry(nil, "metadata", "labels"),
)

var _ = It("Packing what was unpacked changes nothing", func() {
	object := objectOf(20_000)
	Expect(unstructured.SetNestedField(object.Object, true, "status", "initialization", "provisioned")).To(Succeed())
	once, err := packBoth(InfraMachine, object)
	Expect(err).NotTo(HaveOccurred())
	unpacked, err := once.unpack()
	Expect(err).NotTo(HaveOccurred())
	twice, err := packBoth(InfraMachine, unpacked)
	Expect(err).NotTo(HaveOccurred())
	Expect(twice).To(Equal(once))
})

var _ = It("Two readers of an object share nothing", func() {
	p, err := packBoth(InfraMachine, objectOf(100))
	Expect(err).NotTo(HaveOccurred())
	first, err := p.unpack()
	Expect(err).NotTo(HaveOccurred())
	first.SetFinalizers(nil)
	second, err := p.unpack()
	Expect(err).NotTo(HaveOccurred())
	Expect(second.GetFinalizers()).To(HaveLen(2))
})

var _ = It("What an event is about is found, also if it is a tombstone", func() {
	p := &packed{namespace: "ns", name: "m", uid: "u"}
	tombstone := toolscache.DeletedFinalStateUnknown{Key: "ns/m", Obj: p}
	for _, obj := range []any{p, tombstone} {
		found, ok := packedIn(obj)
		Expect(ok).To(BeTrue())
		Expect(found).To(BeIdenticalTo(p))
		Expect(toolscache.DeletionHandlingObjectToName(obj)).To(HaveField("Name", "m"))
	}
	_, ok := packedIn("something")
	Expect(ok).To(BeFalse())
})

var _ = DescribeTable("Two states of an object that differ in nothing but their version are found to",
	func(change string, equal bool) {
		base := `{"metadata":{"generation":3,"name":"n","resourceVersion":"41"},"spec":{"providerID":"41"},"status":{"resourceVersion":"41","conditions":[]}}`
		before := &packed{resourceVersion: "41", json: []byte(base)}
		from, to, _ := strings.Cut(change, " to ")
		after := &packed{resourceVersion: "42", json: []byte(strings.NewReplacer(`"resourceVersion":"41"},`, `"resourceVersion":"42"},`, from, to).Replace(base))}
		Expect(before.equalButForVersion(after)).To(Equal(equal))
		Expect(after.equalButForVersion(before)).To(Equal(equal))
	},
	Entry("", "nothing to ", true),
	Entry("not if a value differs", `"providerID":"41" to "providerID":"42"`, false),
	Entry("not if another resourceVersion does", `"status":{"resourceVersion":"41" to "status":{"resourceVersion":"42"`, false),
	Entry("not if a number is longer", `"generation":3 to "generation":33`, false),
	Entry("not if there is more", `[]}} to []}} `, false),
)

var _ = It("A version that is not in the JSON is no reason to call two states equal", func() {
	p := &packed{resourceVersion: "1", json: []byte(`{}`)}
	Expect(p.equalButForVersion(p)).To(BeFalse())
})

// packBoth packs an object from the JSON in which it arrives, and from its maps, which must be the same. The object is
// changed.
func packBoth(role *Role, object *unstructured.Unstructured) (*packed, error) {
	GinkgoHelper()
	data, err := utiljson.Marshal(object.Object)
	Expect(err).NotTo(HaveOccurred())
	fromJSON, err := decoder{role}.object(data, nil)
	Expect(err).NotTo(HaveOccurred())
	p, err := pack(role, object)
	Expect(fromJSON).To(Equal(p))
	return p, err
}

// objectOf returns an object with all metadata that there is, and with content outside the contract of the given size.
func objectOf(size int) *unstructured.Unstructured {
	filler := func(n int) any { return []any{map[string]any{"text": strings.Repeat("x", n)}} }
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
		"kind":       "AnyMachine",
		"metadata": map[string]any{
			"name": "m", "namespace": "ns", "uid": "u", "resourceVersion": "42", "generation": int64(3),
			"generateName": "m-", "selfLink": "/apis/any",
			"creationTimestamp": "2026-08-03T09:14:41Z", "deletionTimestamp": "2026-08-04T09:14:41Z", "deletionGracePeriodSeconds": int64(0),
			"finalizers": []any{"provider.example.org/one", "backup.example.org/two"},
			"ownerReferences": []any{
				map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "m", "uid": "u-1", "controller": true, "blockOwnerDeletion": true},
				map[string]any{"apiVersion": "example.org/v1", "kind": "Audit", "name": "a", "uid": "u-2"},
			},
			"managedFields": []any{map[string]any{"manager": "provider", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}},
			"labels":        map[string]any{"example.org/team": "blue"},
			"annotations": map[string]any{
				"cluster.x-k8s.io/conversion-data":                 strings.Repeat("y", size/4),
				"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("z", size/4),
			},
		},
		"spec":   map[string]any{"image": filler(size / 4)},
		"status": map[string]any{"events": filler(size / 4), "heartbeat": "2026-08-03T09:14:41Z"},
		"data":   map[string]any{"any": "thing"},
	}}
}

func contentOf(p *packed) map[string]any {
	GinkgoHelper()
	var content map[string]any
	Expect(utiljson.Unmarshal(p.json, &content)).To(Succeed())
	return content
}

func valueAt(p *packed, path ...string) any {
	GinkgoHelper()
	value, _, err := unstructured.NestedFieldNoCopy(contentOf(p), path...)
	Expect(err).NotTo(HaveOccurred())
	return value
}

// leavesOf returns the paths of all values that aren't objects.
func leavesOf(p *packed) []string {
	GinkgoHelper()
	var leaves []string
	var walk func(path accessor.Path, value any)
	walk = func(path accessor.Path, value any) {
		members, ok := value.(map[string]any)
		if !ok {
			leaves = append(leaves, path.String())
			return
		}
		for key, member := range members {
			walk(path.Append(key), member)
		}
	}
	walk(nil, contentOf(p))
	return leaves
}

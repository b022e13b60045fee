// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"encoding/json"
	"flag"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	capiv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	capiv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/randfill"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
)

var (
	iterations = flag.Int("iterations", 1000, "random objects per kind and direction")
	seed       = flag.Int64("seed", time.Now().UnixNano(), "seed of the random objects, to repeat a failure")
)

// TestRoundTrip sends random objects of each side through JSON into the type of the other side and back. The other side
// has to know every field (decoding is strict), to write the same JSON, and to give back the same object.
func TestRoundTrip(t *testing.T) {
	for kind, side := range map[string]struct{ ours, theirs func() runtime.Object }{
		"Machine": {
			ours:   func() runtime.Object { return &clusterv1.Machine{} },
			theirs: func() runtime.Object { return &capiv1.Machine{} },
		},
		"MachineList": {
			ours:   func() runtime.Object { return &clusterv1.MachineList{} },
			theirs: func() runtime.Object { return &capiv1.MachineList{} },
		},
		"MachineDrainRule": {
			ours:   func() runtime.Object { return &clusterv1.MachineDrainRule{} },
			theirs: func() runtime.Object { return &capiv1.MachineDrainRule{} },
		},
		"MachineDrainRuleList": {
			ours:   func() runtime.Object { return &clusterv1.MachineDrainRuleList{} },
			theirs: func() runtime.Object { return &capiv1.MachineDrainRuleList{} },
		},
		"Cluster": {
			ours:   func() runtime.Object { return &clusterv1.Cluster{} },
			theirs: func() runtime.Object { return &capiv1.Cluster{} },
		},
		"ClusterList": {
			ours:   func() runtime.Object { return &clusterv1.ClusterList{} },
			theirs: func() runtime.Object { return &capiv1.ClusterList{} },
		},
	} {
		t.Run(kind+"/ours-theirs-ours", func(t *testing.T) { roundTrip(t, "v1beta2", kind, side.ours, side.theirs) })
		t.Run(kind+"/theirs-ours-theirs", func(t *testing.T) { roundTrip(t, "v1beta2", kind, side.theirs, side.ours) })
	}
}

// TestRoundTripV1Beta1 does the same for v1beta1. What our types share with v1beta2 leaves out an empty text, or an
// object without members, where Cluster API's writes it, and the schema forbids it.
func TestRoundTripV1Beta1(t *testing.T) {
	for kind, side := range map[string]struct{ ours, theirs func() runtime.Object }{
		"Machine": {
			ours:   func() runtime.Object { return &clusterv1beta1.Machine{} },
			theirs: func() runtime.Object { return &capiv1beta1.Machine{} },
		},
		"MachineDrainRule": {
			ours:   func() runtime.Object { return &clusterv1beta1.MachineDrainRule{} },
			theirs: func() runtime.Object { return &capiv1beta1.MachineDrainRule{} },
		},
		"Cluster": {
			ours:   func() runtime.Object { return &clusterv1beta1.Cluster{} },
			theirs: func() runtime.Object { return &capiv1beta1.Cluster{} },
		},
	} {
		t.Run(kind+"/ours-theirs-ours", func(t *testing.T) { roundTrip(t, "v1beta1", kind, side.ours, side.theirs) })
		t.Run(kind+"/theirs-ours-theirs", func(t *testing.T) { roundTrip(t, "v1beta1", kind, side.theirs, side.ours) })
	}
}

func roundTrip(t *testing.T, version, kind string, from, via func() runtime.Object) {
	t.Helper()
	written := func(data []byte) any {
		if version == "v1beta1" {
			return withoutEmpty(generic(t, data))
		}
		return generic(t, data)
	}
	filler := newFiller(*seed)
	seen := map[string]bool{}
	for i := range *iterations {
		original, other, back := from(), via(), from()
		filler.Fill(original)

		want := encode(t, original)
		decode(t, want, other)
		got := encode(t, other)
		if diff := cmp.Diff(written(want), written(got)); diff != "" {
			t.Fatalf("object %d of -seed=%d changes on the way through %T (-before +after):\n%s", i, *seed, other, diff)
		}
		decode(t, got, back)
		if !equality.Semantic.DeepEqual(original, back) {
			t.Fatalf("object %d of -seed=%d comes back different (-before +after):\n%s", i, *seed, cmp.Diff(original, back))
		}
		collectPaths(seen, "", generic(t, want))
	}
	if !strings.HasSuffix(kind, "List") {
		requireCoverage(t, version, kind, seen)
	}
}

// withoutEmpty removes members that are empty texts, or objects without members.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			member = withoutEmpty(member)
			if object, isObject := member.(map[string]any); member == "" || isObject && len(object) == 0 {
				delete(value, name)
			}
		}
	case []any:
		for _, element := range value {
			withoutEmpty(element)
		}
	}
	return value
}

// requireCoverage fails if a property of Cluster API's schema was in none of the objects: what was never set was not
// tested.
func requireCoverage(t *testing.T, version, kind string, seen map[string]bool) {
	t.Helper()
	for _, path := range schemaPaths(theirSchema(t, version, kind), "") {
		if !seen[path] {
			t.Errorf("no random %s had a value at %s; is the filler at fault, or -iterations=%d too few?", kind, path, *iterations)
		}
	}
}

// TestTopologyIsCarriedUntouched checks what random objects can't: values that Cluster API's types would refuse or
// round, in an order of their own.
func TestTopologyIsCarriedUntouched(t *testing.T) {
	const topology = `{"version":"v1.37.2","classRef":{"name":"quick"},"fromTheFuture":{"z":1,"a":[null,{}]},"big":12345678901234567890.123}`
	cluster := &clusterv1.Cluster{}
	decode(t, []byte(`{"spec":{"topology":`+topology+`}}`), cluster)

	copied := cluster.DeepCopy()
	if got := string(copied.Spec.Topology.Raw); got != topology {
		t.Errorf("topology in memory = %s, want %s", got, topology)
	}
	if got := string(encode(t, copied)); !strings.Contains(got, `"topology":`+topology) {
		t.Errorf("topology written = %s, want it to contain %s", got, topology)
	}
}

func newFiller(seed int64, more ...any) *randfill.Filler {
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	funcs := apifuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return append([]any{
			// apimachinery leaves apiVersion and kind empty, as typed clients do. Here they are fields like others.
			func(meta *metav1.TypeMeta, c randfill.Continue) { c.FillNoCustom(meta) },
			// The raw topology of our Cluster is whatever Cluster API's own type writes.
			func(raw *runtime.RawExtension, c randfill.Continue) {
				topology := capiv1.Topology{}
				c.Fill(&topology)
				data, err := json.Marshal(topology)
				if err != nil {
					panic(err)
				}
				raw.Raw = data
			},
			// Its v1beta1 has the v1beta1 of that.
			func(spec *clusterv1beta1.ClusterSpec, c randfill.Continue) {
				c.FillNoCustom(spec)
				if spec.Topology != nil {
					topology := capiv1beta1.Topology{}
					c.Fill(&topology)
					data, err := json.Marshal(topology)
					if err != nil {
						panic(err)
					}
					spec.Topology.Raw = data
				}
			},
			// A topology always has a version, which is required; without any value it would not be written at all.
			func(topology *capiv1.Topology, c randfill.Continue) {
				c.FillNoCustom(topology)
				topology.Version = "v1." + c.String(10)
			},
			// A nil *IntOrString fills itself with nothing, so it needs help to become one.
			func(value **intstr.IntOrString, c randfill.Continue) {
				if c.Bool() {
					*value = &intstr.IntOrString{}
					c.Fill(*value)
				}
			},
			// So does a nil *Time, of which v1beta1 has some.
			func(value **metav1.Time, c randfill.Continue) {
				if c.Bool() {
					*value = &metav1.Time{}
					c.Fill(*value)
				}
			},
			// The value of a variable is any JSON.
			func(variable *capiv1.ClusterVariable, c randfill.Continue) {
				variable.Name = c.String(0)
				data, err := json.Marshal(map[string]any{c.String(0): []any{c.Int31(), c.Bool(), nil, c.String(0)}})
				if err != nil {
					panic(err)
				}
				variable.Value.Raw = data
			},
			func(variable *capiv1beta1.ClusterVariable, c randfill.Continue) {
				variable.Name, variable.DefinitionFrom = c.String(0), c.String(0)
				variable.Value.Raw = []byte(`{"any":"value"}`)
			},
		}, more...)
	})
	// No empty lists: they are not written, and the object around one would be written as {} and come back as absent.
	return apifuzzer.FuzzerFor(funcs, rand.NewSource(seed), codecs).NumElements(1, 3)
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decode reads data as the API server does with fieldValidation=Strict: unknown and duplicate fields are errors.
func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	unknown, err := strictjson.UnmarshalStrict(data, into)
	if err != nil {
		t.Fatalf("%T can't read %s: %v", into, data, err)
	}
	if len(unknown) > 0 {
		t.Fatalf("%T does not know all of %s: %v", into, data, unknown)
	}
}

func generic(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	decode(t, data, &value)
	return value
}

// collectPaths adds the path of every value in a JSON document to seen: ".spec.taints[].key".
func collectPaths(seen map[string]bool, path string, value any) {
	seen[path] = true
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			collectPaths(seen, path+"."+name, member)
		}
	case []any:
		for _, element := range value {
			collectPaths(seen, path+"[]", element)
		}
	}
}

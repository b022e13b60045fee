// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"encoding/json"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

const managerName = "system:serviceaccount:ns:manager"

// world is all that lookups find.
type world struct {
	// problems are those of kinds; the others can be used.
	problems map[string]external.KindProblem
	scopes   map[string]scope
	// objects are the provider objects called m, by kind.
	objects map[string]*metav1.PartialObjectMetadata
	cluster *clusterv1.Cluster
	// others are the Machines that are found by whatever they are looked for by, and existing those that there are.
	others   []clusterv1.Machine
	existing []string
	missing  []string
	// readable makes the requester one that may read everything.
	readable bool
	// err is what every lookup fails with.
	err error

	lookedUp int
}

// newWorld is one in which nothing is wrong with machine: all that it references can be used, and isn't there yet.
func newWorld() *world {
	return &world{
		problems: map[string]external.KindProblem{}, scopes: map[string]scope{}, objects: map[string]*metav1.PartialObjectMetadata{},
		cluster: builder.Cluster("ns", "cluster").Build(),
	}
}

func machine() *clusterv1.Machine {
	return builder.Machine("ns", "m").With(func(m *clusterv1.Machine) { m.UID = "now" }).Build()
}

// look counts, and fails if the world does.
func look[T any](w *world, found T) (T, error) {
	w.lookedUp++
	if w.err != nil {
		var nothing T
		return nothing, w.err
	}
	return found, nil
}

func (w *world) lookups() *lookups {
	return &lookups{
		definition: w.definition,
		object:     w.object,
		scope: func(_ context.Context, resource schema.GroupVersionResource) (scope, error) {
			return look(w, w.scopes[resource.Resource])
		},
		cluster: func(context.Context, types.NamespacedName) (*clusterv1.Cluster, error) { return look(w, w.cluster) },
		machineExists: func(_ context.Context, key types.NamespacedName) (bool, error) {
			return look(w, slices.Contains(w.existing, key.Name))
		},
		machines:     machinesOf{w},
		missingVerbs: func(context.Context, schema.GroupResource) ([]string, error) { return look(w, w.missing) },
		mayGet: func(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) bool {
			w.lookedUp++
			return w.readable
		},
		isManager: func(_ context.Context, user authenticationv1.UserInfo) bool { return user.Username == managerName },
	}
}

func (w *world) definition(_ context.Context, kind external.Kind) (*external.Definition, error) {
	if problem := w.problems[kind.Kind]; problem != "" && w.err == nil {
		return nil, &external.KindError{Kind: kind, Problem: problem, Message: "no"}
	}
	return look(w, &external.Definition{
		Kind: kind, Name: contract.CRDName(kind.Group, kind.Kind), Resolution: contract.Resolution{ContractVersion: contract.V1Beta2, APIVersion: "v1"},
	})
}

func (w *world) object(_ context.Context, resource schema.GroupVersionResource, key types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	if _, unserved := w.scopes[resource.Resource]; unserved && w.err == nil {
		return nil, errUnserved
	}
	Expect(key).To(Equal(types.NamespacedName{Namespace: "ns", Name: "m"}))
	return look(w, w.objects[resource.Resource])
}

type machinesOf struct{ *world }

func (m machinesOf) WithInfrastructure(_ context.Context, _ string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return m.where(func(o *clusterv1.Machine) bool { return o.Spec.InfrastructureRef == ref })
}

func (m machinesOf) WithConfig(_ context.Context, _ string, ref clusterv1.ContractVersionedObjectReference) ([]clusterv1.Machine, error) {
	return m.where(func(o *clusterv1.Machine) bool { return o.Spec.Bootstrap.ConfigRef == ref })
}

func (m machinesOf) WithProviderID(_ context.Context, _, id string) ([]clusterv1.Machine, error) {
	return m.where(func(o *clusterv1.Machine) bool { return o.Spec.ProviderID == id })
}

func (m machinesOf) where(match func(*clusterv1.Machine) bool) ([]clusterv1.Machine, error) {
	var found []clusterv1.Machine
	for i := range m.others {
		if match(&m.others[i]) {
			found = append(found, m.others[i])
		}
	}
	return look(m.world, found)
}

// trial is a validator with what it counts.
type trial struct {
	*validator
	registry *prometheus.Registry
}

// try makes a validator of the world; in mode off it can't look anything up.
func (w *world) try(mode Mode) trial {
	GinkgoHelper()
	registry := prometheus.NewPedanticRegistry()
	counts := meter.New()
	Expect(registry.Register(counts)).To(Succeed())
	v := &validator{mode: mode, meter: counts, rules: rules, decode: decode}
	if mode != Off {
		v.lookups = w.lookups()
	}
	return trial{v, registry}
}

// counts returns how often the rule had each outcome.
func (t trial) counts(rule string) map[string]float64 {
	GinkgoHelper()
	families, err := t.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "machinist_reference_validation_rules_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["rule"] == rule {
				counts[labels["outcome"]] += metric.GetCounter().GetValue()
			}
		}
	}
	return counts
}

func create(m *clusterv1.Machine) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Create, Namespace: m.Namespace, Name: m.Name, Object: raw(m), UserInfo: authenticationv1.UserInfo{Username: "user"},
	}}
}

func update(before, now *clusterv1.Machine) admission.Request {
	request := create(now)
	request.Operation, request.OldObject = admissionv1.Update, raw(before)
	return request
}

func raw(object any) runtime.RawExtension {
	GinkgoHelper()
	data, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: data}
}

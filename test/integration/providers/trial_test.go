// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/simulator"
)

// trial is one reading of a definition, in a namespace of its own. Trials run side by side, so each has assertions of its
// own.
type trial struct {
	Gomega
	definition
	reading
	crd       *apiextensionsv1.CustomResourceDefinition
	namespace string
	subjects  []*subject
}

// subject is a Machine and the provider object that it references.
type subject struct {
	// name is what the object is called in the report: its file, or what is special about it.
	name    string
	object  *unstructured.Unstructured // at the API version at which it is written
	machine types.NamespacedName
	// before is the object without what the manager may write, as it was before the Machine was there.
	before map[string]any
	want   shown
}

func newTrial(ctx context.Context, g Gomega, d definition, crd *apiextensionsv1.CustomResourceDefinition, r reading) *trial {
	namespace, err := env.CreateNamespace(ctx, "spec")
	g.Expect(err).NotTo(HaveOccurred())
	return &trial{Gomega: g, definition: d, reading: r, crd: crd, namespace: namespace}
}

// add creates the object with its status, and a Machine that references it. The Machine has the name of the one that
// controlled the object where it was published, as if both had been restored from a backup.
func (t *trial) add(ctx context.Context, name string, object *unstructured.Unstructured) *subject {
	s := &subject{name: name, object: t.published(object)}
	t.Expect(t.create(ctx, s)).To(Succeed())
	s.before = t.untouchable(ctx, s)
	s.machine = types.NamespacedName{Namespace: t.namespace, Name: s.object.GetName()}
	if owner := metav1.GetControllerOf(s.object); owner != nil && owner.Kind == "Machine" {
		s.machine.Name = owner.Name
	}
	cluster := s.object.GetLabels()[clusterv1.ClusterNameLabel]
	if cluster == "" {
		cluster = "blue"
	}
	t.Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: cluster},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "127.0.0.1", Port: 6443}},
	}))).To(Succeed())
	t.Expect(k8s.Create(ctx, t.machine(s, cluster))).To(Succeed())
	t.subjects = append(t.subjects, s)
	return s
}

// create creates the object, and then its status.
func (t *trial) create(ctx context.Context, s *subject) error {
	if err := k8s.Create(ctx, s.object.DeepCopy()); err != nil || s.object.Object["status"] == nil {
		return err
	}
	return s.setStatus(ctx, s.object.Object["status"])
}

// setStatus merges into the status of the object.
func (s *subject) setStatus(ctx context.Context, status any) error {
	return k8s.Status().Patch(ctx, s.bare(), merge(map[string]any{"status": status}))
}

// published returns the object without what a backup or the API server wouldn't take: what it assigns itself, finalizers
// that only the provider would remove, and owner references without UID, as they are found in documentation.
func (t *trial) published(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	metadata := map[string]any{"namespace": t.namespace}
	for key, value := range object.Object["metadata"].(map[string]any) {
		if slices.Contains([]string{"name", "labels", "annotations"}, key) {
			metadata[key] = value
		}
	}
	owners := slices.DeleteFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == "" })
	object.Object["metadata"] = metadata
	object.SetOwnerReferences(owners)
	return object
}

// machine references the object in its role. In the other role it has what lets it go on with this one.
func (t *trial) machine(s *subject, cluster string) *clusterv1.Machine {
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: t.Group, Kind: t.Kind, Name: s.object.GetName()}
	m := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.machine.Namespace, Name: s.machine.Name},
		Spec:       clusterv1.MachineSpec{ClusterName: cluster, InfrastructureRef: ref},
	}
	if t.Role == infraMachine {
		m.Spec.Bootstrap.DataSecretName = new("given")
		return m
	}
	m.Spec.Bootstrap.ConfigRef = ref
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: simulator.SimMachine.Group, Kind: simulator.SimMachine.Kind, Name: "not-there"}
	return m
}

// expect waits until the Machine shows what it must show of the object as it is now.
func (t *trial) expect(ctx context.Context, s *subject) {
	want, known := exceptions[exception{t.File, t.contract, s.name}]
	if !known {
		var err error
		want, err = expected(t.definition, t.reading, t.get(ctx, s))
		t.Expect(err).NotTo(HaveOccurred(), "%s needs an entry in exceptions", s.name)
	}
	t.expectShown(ctx, s, want)
}

func (t *trial) expectShown(ctx context.Context, s *subject, want shown) {
	s.want = want
	t.Eventually(func(g Gomega) {
		g.Expect(cmp.Diff(s.want, t.said(ctx, g, machines, s))).To(BeEmpty(), "%s, %s: expected (-), shown by the Machine (+)", s.name, t.reading)
	}).WithContext(ctx).Should(Succeed())
	report.add(t, s)
}

func (t *trial) said(ctx context.Context, g Gomega, from client.Reader, s *subject) shown {
	m := &clusterv1.Machine{}
	g.Expect(from.Get(ctx, s.machine, m)).To(Succeed())
	got := said(m, t.Role)
	if s.want.Ready.Since == "" {
		got.Ready.Since = ""
	}
	return got
}

// settle checks, when all has happened, that each Machine still shows what it did, that the objects are as they were but
// for their owner and their Cluster, and that the manager has sent no request that wasn't needed for that.
func (t *trial) settle(ctx context.Context) {
	for _, s := range t.subjects {
		t.Expect(cmp.Diff(s.want, t.said(ctx, t, k8s, s))).To(BeEmpty(), "%s, %s: the Machine has changed its mind", s.name, t.reading)
		t.Expect(cmp.Diff(s.before, t.untouchable(ctx, s))).To(BeEmpty(), "%s: the manager has changed it", s.name)
		if t.contract != "" {
			t.expectAdopted(ctx, s)
		}
	}
	t.expectRequests(ctx)
}

// expectRequests checks that the manager watches the kind at the API version of the reading, and that its only requests
// for single objects are one successful patch each.
func (t *trial) expectRequests(ctx context.Context) {
	requests, err := env.Requests(ctx)
	t.Expect(err).NotTo(HaveOccurred())
	watched, patched := "", 0
	for _, request := range requests.From(controllers.UserAgent) {
		switch {
		case request.Group != t.Group || request.Resource != t.crd.Spec.Names.Plural:
		case request.Namespace == "":
			t.Expect(request.Verb).To(BeElementOf("list", "watch"), "%s of %s", request.Verb, request.URI)
			watched = request.Version
		case request.Namespace == t.namespace:
			t.Expect(request.Verb).To(Equal("patch"), "%s of %s", request.Verb, request.URI)
			t.Expect(request.Version).To(Equal(t.apiVersion))
			if request.Code == http.StatusOK {
				patched++
			}
		}
	}
	if t.contract != "" {
		t.Expect(watched).To(Equal(t.apiVersion), "the API version that the manager watches")
		t.Expect(patched).To(Equal(len(t.subjects)), "patches of %d objects", len(t.subjects))
	}
}

// expectAdopted checks that the one controller of the object is its Machine, beside the owners that it had.
func (t *trial) expectAdopted(ctx context.Context, s *subject) {
	m := &clusterv1.Machine{}
	t.Expect(k8s.Get(ctx, s.machine, m)).To(Succeed())
	want := []metav1.OwnerReference{{
		APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: m.Name, UID: m.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	for _, owner := range s.object.GetOwnerReferences() {
		if owner.Kind != "Machine" {
			want = append(want, owner)
		}
	}
	object := t.get(ctx, s)
	t.Expect(object.GetOwnerReferences()).To(ConsistOf(want), s.name)
	t.Expect(object.GetLabels()).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, m.Spec.ClusterName), s.name)
}

// finish deletes the Machines; their objects go with them.
func (t *trial) finish(ctx context.Context) {
	for _, s := range t.subjects {
		t.Expect(k8s.Delete(ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.machine.Namespace, Name: s.machine.Name}})).To(Succeed())
	}
	for _, s := range t.subjects {
		t.Eventually(func() bool { return apierrors.IsNotFound(k8s.Get(ctx, s.machine, &clusterv1.Machine{})) }).
			WithContext(ctx).Should(BeTrue(), "the Machine of %s should be gone", s.name)
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(t.gvk(t.apiVersion))
		err := k8s.Get(ctx, client.ObjectKeyFromObject(s.object), object)
		t.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s should be gone before its Machine", s.name)
	}
}

// get returns the object as everybody sees it who reads it at the API version of the reading.
func (t *trial) get(ctx context.Context, s *subject) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.gvk(t.apiVersion))
	t.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s.object), object)).To(Succeed())
	return object
}

// untouchable is the object without what the manager, or the API server on a write, may change.
func (t *trial) untouchable(ctx context.Context, s *subject) map[string]any {
	object := t.get(ctx, s)
	object.SetOwnerReferences(nil)
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	labels := object.GetLabels()
	if delete(labels, clusterv1.ClusterNameLabel); len(labels) == 0 {
		labels = nil
	}
	object.SetLabels(labels)
	return object.Object
}

// bare is only the identity of the object, at the API version at which it is written.
func (s *subject) bare() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(s.object.GroupVersionKind())
	object.SetNamespace(s.object.GetNamespace())
	object.SetName(s.object.GetName())
	return object
}

func merge(patch map[string]any) client.Patch {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // it is JSON already
	}
	return client.RawPatch(types.MergePatchType, data)
}

// nested returns the value under the path.
func nested(value any, path ...string) map[string]any {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	out, _ := value.(map[string]any)
	return out
}

func with(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	for key, value := range b {
		below, ok := out[key].(map[string]any)
		more, okMore := value.(map[string]any)
		if ok && okMore {
			value = with(below, more)
		}
		if out == nil {
			out = map[string]any{}
		}
		out[key] = value
	}
	return out
}

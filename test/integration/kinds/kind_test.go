// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/simulator"
)

// The API versions of every kind here; both have the same schema, and the second is stored.
const (
	oldAPI = simulator.OldAPIVersion
	newAPI = simulator.NewAPIVersion
)

// The labels of a CRD that declare a contract.
const (
	oldContract = contract.LabelPrefix + string(contract.V1Beta1)
	newContract = contract.LabelPrefix + string(contract.V1Beta2)
)

// provisioned is the status of an InfraMachine that says so under both contract versions.
var provisioned = object{"ready": true, "initialization": object{"provisioned": true}}

// kind is an InfraMachine kind in an API group of its own, so that access to it can be granted alone.
type kind struct {
	schema.GroupKind
	apiVersion string
}

// kind returns a kind that no other spec knows.
func (p *place) kind(name string) kind {
	return kind{schema.GroupKind{Group: name + "." + p.namespace + ".example.org", Kind: "TestMachine"}, newAPI}
}

// change is one of a CRD.
type change = func(*apiextensionsv1.CustomResourceDefinition)

func (k kind) crd() *apiextensionsv1.CustomResourceDefinition {
	return simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: k.GroupKind, Contracts: []contract.Version{contract.V1Beta2}, AnyContent: true})
}

// install creates the CRD, with changes if there are any, and returns when the API server serves it.
func (k kind) install(changes ...change) {
	GinkgoHelper()
	crd := k.crd()
	for _, change := range changes {
		change(crd)
	}
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	Expect(err).NotTo(HaveOccurred())
}

// remove deletes the CRD and returns when it is gone.
func (k kind) remove(ctx context.Context) {
	GinkgoHelper()
	crd := k.crd()
	Expect(k8s.Delete(ctx, crd)).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd)) }).WithContext(ctx).Should(BeTrue())
}

// labelled makes a CRD declare nothing but one contract, for one API version.
func labelled(label, apiVersion string) change {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = map[string]string{label: apiVersion} }
}

// serving makes a CRD serve only one API version.
func serving(apiVersion string) change {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Name == apiVersion
		}
	}
}

// update changes the CRD in one request.
func (k kind) update(ctx context.Context, changes ...change) {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Eventually(func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(k.crd()), crd); err != nil {
			return err
		}
		for _, change := range changes {
			change(crd)
		}
		return k8s.Update(ctx, crd)
	}).WithContext(ctx).Should(Succeed())
}

// at returns the kind for requests at another API version than the one that is stored.
func (k kind) at(apiVersion string) kind {
	k.apiVersion = apiVersion
	return k
}

func (k kind) client(namespace string) dynamic.ResourceInterface {
	GinkgoHelper()
	return k.clientOf(env.ConfigFor("kinds-test"), namespace)
}

func (k kind) clientOf(cfg *rest.Config, namespace string) dynamic.ResourceInterface {
	GinkgoHelper()
	c, err := dynamic.NewForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
	return c.Resource(schema.GroupVersionResource{Group: k.Group, Version: k.apiVersion, Resource: "testmachines"}).Namespace(namespace)
}

// create creates an object, with its status.
func (k kind) create(ctx context.Context, namespace, name string, content object) {
	GinkgoHelper()
	obj := &unstructured.Unstructured{Object: object{"spec": content["spec"]}}
	obj.SetGroupVersionKind(k.WithVersion(k.apiVersion))
	obj.SetName(name)
	_, err := k.client(namespace).Create(ctx, obj, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	if status, ok := content["status"]; ok {
		k.patch(ctx, namespace, name, object{"status": status}, "status")
	}
}

// patch sends a JSON merge patch.
func (k kind) patch(ctx context.Context, namespace, name string, patch object, subresource ...string) {
	GinkgoHelper()
	data, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	_, err = k.client(namespace).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, subresource...)
	Expect(err).NotTo(HaveOccurred())
}

func (k kind) get(ctx context.Context, namespace, name string) func(g Gomega) *unstructured.Unstructured {
	return func(g Gomega) *unstructured.Unstructured {
		obj, err := k.client(namespace).Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return obj
	}
}

// installSimulated installs the kinds of the simulator.
func installSimulated() {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
	}})
	Expect(err).NotTo(HaveOccurred())
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/manager"
)

// cluster is a management cluster of one spec.
type cluster struct {
	*environment.Environment
	k8s client.WithWatch // of an administrator
}

// newCluster starts one with the namespace of the manager.
func newCluster(ctx context.Context) *cluster {
	GinkgoHelper()
	env := startEnvironment(ctx)
	c := &cluster{Environment: env, k8s: manager.User(env, "deployment-test")}
	Expect(c.k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	return c
}

// startEnvironment starts a control plane that ends with the node that calls it.
func startEnvironment(ctx context.Context) *environment.Environment {
	GinkgoHelper()
	env, err := environment.Start(ctx, environment.Options{WithControllerManager: true, CountRequests: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(env.Stop)
	return env
}

// apply applies objects as kubectl apply --server-side does.
func (c *cluster) apply(ctx context.Context, objects manifests, options ...client.ApplyOption) {
	GinkgoHelper()
	for _, object := range objects {
		options := append([]client.ApplyOption{client.FieldOwner("kubectl")}, options...)
		applied := object.DeepCopy()
		Eventually(func() error { // a CustomResourceDefinition takes a moment until it is served
			return c.k8s.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), options...)
		}).WithContext(ctx).Should(Succeed(), "%s %s", object.GetKind(), object.GetName())
	}
}

// versions are the generations of objects, or else their resource versions, by kind and name.
func (c *cluster) versions(ctx context.Context, objects manifests) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	for _, object := range objects {
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(object.GroupVersionKind())
		Expect(c.k8s.Get(ctx, client.ObjectKeyFromObject(object), stored)).To(Succeed())
		version := strconv.FormatInt(stored.GetGeneration(), 10)
		if version == "0" {
			version = stored.GetResourceVersion()
		}
		versions[object.GetKind()+" "+object.GetName()] = version
	}
	return versions
}

// standIn defines a kind of somebody else, whose objects may hold anything.
func standIn(gvk schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(gvk.Kind)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = singular + "s." + gvk.Group
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: gvk.Kind, ListKind: gvk.Kind + "List", Plural: singular + "s", Singular: singular},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: gvk.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
		}},
	}
	return crd
}

// accessOf is that of a pod with the ServiceAccount.
func (c *cluster) accessOf(ctx context.Context, account string) *rest.Config {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(c.Config)
	Expect(err).NotTo(HaveOccurred())
	token, err := clientset.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	access := rest.AnonymousClientConfig(c.Config)
	access.BearerToken = token.Status.Token
	return access
}

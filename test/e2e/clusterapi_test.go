// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/test/environment/suite"
)

const (
	// peerModule depends on the release of Cluster API that we compare ourselves to.
	peerModule       = "test/scale/peer"
	clusterAPIModule = "sigs.k8s.io/cluster-api"

	// Names of its core's installation.
	coreSystem     = "capi-system"
	coreDeployment = "capi-controller-manager"
	coreService    = "capi-webhook-service"
	coreSecret     = "capi-webhook-service-cert"
)

// loadClusterAPI builds Cluster API's core manager as it is released, and gives an image of it to the cluster.
func (c *cluster) loadClusterAPI(ctx context.Context) {
	GinkgoHelper()
	version := run(ctx, nil, "go", "-C", peerModule, "list", "-m", "-f", "{{.Version}}", clusterAPIModule)
	binary, err := filepath.Abs(filepath.Join(root, "bin", "linux-"+runtime.GOARCH, "cluster-api-core"))
	Expect(err).NotTo(HaveOccurred())
	run(ctx, []string{"CGO_ENABLED=0"}, "go", "-C", peerModule, "build", "-trimpath",
		"-ldflags=-s -w -X "+clusterAPIModule+"/version.gitVersion="+version, "-o", binary, clusterAPIModule+"/core")
	c.clusterAPI = "cluster-api/core:" + version
	run(ctx, nil, "go", "-C", "hack/image", "run", ".",
		"-binary="+binary, "-arch="+runtime.GOARCH, "-tag="+c.clusterAPI, "-output="+binary+".tar")
	run(ctx, nil, "go", "run", "./hack/cluster", "load-image", binary+".tar")
}

// clusterAPI is Cluster API's core manager with all that belongs to it.
type clusterAPI struct {
	objects []*unstructured.Unstructured
}

// installClusterAPI installs Cluster API's core for the container that it is called in, from the manifests of its module: they
// are what clusterctl installs. Two things differ. The image is the cluster's own, and the certificate of the webhooks comes
// from here and not from cert-manager.
func installClusterAPI(ctx context.Context) *clusterAPI {
	GinkgoHelper()
	authority, secret := coreCertificate()
	core := &clusterAPI{}
	DeferCleanup(core.uninstall, NodeTimeout(deployTimeout))
	for _, object := range coreManifests(ctx) {
		switch {
		case object.GroupVersionKind().Group == "cert-manager.io":
			continue
		case object.GetAnnotations()["cert-manager.io/inject-ca-from"] != "":
			setAuthority(object, authority)
		case object.GetKind() == "Deployment":
			setImage(object)
			Expect(k8s.Create(ctx, secret)).To(Succeed())
		}
		Expect(k8s.Create(ctx, object)).To(Succeed())
		core.objects = append(core.objects, object)
	}
	core.eventuallyAvailable(ctx)
	return core
}

// variable is one that clusterctl replaces, with the default that it takes if nobody has set it.
var variable = regexp.MustCompile(`\$\{\w+:=([^}]*)\}`)

func coreManifests(ctx context.Context) []*unstructured.Unstructured {
	GinkgoHelper()
	run(ctx, nil, "go", "-C", peerModule, "mod", "download", clusterAPIModule)
	folder := run(ctx, nil, "go", "-C", peerModule, "list", "-m", "-f", "{{.Dir}}", clusterAPIModule)
	rendered := run(ctx, nil, "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", filepath.Join(folder, "core", "config", "default"))
	return suite.Decode([]byte(variable.ReplaceAllString(rendered, "$1")))
}

// coreCertificate makes the certificate of the core's webhooks, and what the API server knows it by.
func coreCertificate() (authority []byte, secret *corev1.Secret) {
	GinkgoHelper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey(coreService+"."+coreSystem+".svc", nil, nil)
	Expect(err).NotTo(HaveOccurred())
	return certificate, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: coreSystem, Name: coreSecret},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	}
}

// setAuthority does what cert-manager would: in a CustomResourceDefinition, or in the entries of a configuration of webhooks.
func setAuthority(object *unstructured.Unstructured, authority []byte) {
	GinkgoHelper()
	bundle := base64.StdEncoding.EncodeToString(authority)
	if object.GetKind() == "CustomResourceDefinition" {
		Expect(unstructured.SetNestedField(object.Object, bundle, "spec", "conversion", "webhook", "clientConfig", "caBundle")).To(Succeed())
		return
	}
	webhooks, ok := object.Object["webhooks"].([]any)
	Expect(ok).To(BeTrue(), "%s %s has no webhooks", object.GetKind(), object.GetName())
	for _, webhook := range webhooks {
		Expect(unstructured.SetNestedField(webhook.(map[string]any), bundle, "clientConfig", "caBundle")).To(Succeed())
	}
}

func setImage(deployment *unstructured.Unstructured) {
	GinkgoHelper()
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	Expect(err).NotTo(HaveOccurred())
	Expect(containers).To(HaveLen(1))
	container := containers[0].(map[string]any)
	container["image"], container["imagePullPolicy"] = target.clusterAPI, string(corev1.PullIfNotPresent)
	Expect(unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
}

func (c *clusterAPI) eventuallyAvailable(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		deployment := &appsv1.Deployment{}
		g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: coreSystem, Name: coreDeployment}, deployment)).To(Succeed())
		g.Expect(deployment.Status.AvailableReplicas).To(BeEquivalentTo(1), describePods(ctx))
	}).WithContext(ctx).Should(Succeed())
}

// content is all that the installation's objects say, but for their status, by kind and name. Its pods are there by their UIDs:
// they have to stay the same.
func (c *clusterAPI) content(ctx context.Context) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	for _, object := range c.objects {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(object.GroupVersionKind())
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), now)).To(Succeed())
		now.SetManagedFields(nil)
		now.SetResourceVersion("")
		unstructured.RemoveNestedField(now.Object, "status")
		text, err := json.Marshal(now)
		Expect(err).NotTo(HaveOccurred())
		found[now.GetKind()+" "+now.GetName()] = string(text)
	}
	for _, pod := range podsOf(ctx, client.InNamespace(coreSystem)) {
		found["Pod "+pod.Name] = string(pod.UID)
	}
	return found
}

// uninstall removes everything. What is left of objects would keep their kinds from going.
func (c *clusterAPI) uninstall(ctx SpecContext) {
	isDefinition := func(object *unstructured.Unstructured) bool { return object.GetKind() == "CustomResourceDefinition" }
	for _, definitions := range []bool{false, true} {
		for _, object := range slices.Backward(c.objects) {
			if isDefinition(object) == definitions {
				Expect(client.IgnoreNotFound(k8s.Delete(ctx, object))).To(Succeed())
			}
		}
		release(ctx)
	}
	for _, object := range c.objects {
		Eventually(func() error {
			return k8s.Get(ctx, client.ObjectKeyFromObject(object), object)
		}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound), object.GetName())
	}
}

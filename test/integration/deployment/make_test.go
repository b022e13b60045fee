// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

// root is the folder of the Makefile.
const root = "../../.."

var _ = It("make deploy installs and upgrades, and make undeploy leaves what people have stored", func(ctx SpecContext) {
	env := startEnvironment(ctx)
	k8s := manager.User(env, "deployment-test")
	run := func(args ...string) {
		GinkgoHelper()
		output, err := runMake(ctx, env, args...)
		Expect(err).NotTo(HaveOccurred(), output)
	}
	run("install")
	stored := builder.Machine("default", "stored").Build()
	Eventually(k8s.Create).WithArguments(stored).WithContext(ctx).Should(Succeed(), "as soon as the kind is served")

	for _, image := range []string{"example.org/manager:v1", "example.org/manager:v1", "example.org/manager:v2"} {
		By("deploying " + image)
		run("deploy", "IMG="+image)
		deployment := &appsv1.Deployment{}
		Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "machinist-controller-manager"}, deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	}

	By("undeploying what can't be")
	for _, wrong := range []string{"NAMESPACE=elsewhere", "OVERLAY=overlays/unknown", "IMG=example.org/manager"} {
		output, err := runMake(ctx, env, "undeploy", wrong)
		Expect(err).To(HaveOccurred(), output)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		Expect(k8s.Get(ctx, client.ObjectKey{Name: "machines.cluster.x-k8s.io"}, crd)).To(Succeed())
		Expect(crd.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter), "the manager is still there")
	}

	for _, missing := range []string{"", "clusters.cluster.x-k8s.io"} {
		By("undeploying, without the kind " + missing)
		if missing != "" {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			crd.Name = missing
			Expect(k8s.Delete(ctx, crd)).To(Succeed())
			Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(crd), crd) }).WithContext(ctx).
				Should(Satisfy(apierrors.IsNotFound))
		}
		run("undeploy", "IMG=example.org/manager:v2")
		expectUninstalled(ctx, k8s, render(ctx, "default"), stored)
	}
	for range 2 { // the second time there is nothing
		run("uninstall")
	}
})

var _ = It("A release is installed and removed with its files alone, and leaves what people have stored", func(ctx SpecContext) {
	env := startEnvironment(ctx)
	k8s := manager.User(env, "deployment-test")
	dist := GinkgoT().TempDir()
	output, err := runMake(ctx, env, "release-manifests", "VERSION=v1.2.3", "IMG="+image, "DIST="+dist)
	Expect(err).NotTo(HaveOccurred(), output)
	files, err := filepath.Glob(filepath.Join(dist, "*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(2*6 + 1))
	for _, file := range files {
		definitions := manifestsOf(file).of("CustomResourceDefinition")
		if strings.HasPrefix(filepath.Base(file), "uninstall-") {
			Expect(definitions).To(BeEmpty(), "what people have stored goes with them")
		}
	}
	kubectl := findKubectl(ctx)
	run := func(args ...string) {
		GinkgoHelper()
		command := exec.CommandContext(ctx, kubectl, args...)
		command.Dir = dist
		command.Env = append(os.Environ(), "KUBECONFIG="+env.KubeconfigPath)
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
	}

	install := []string{"apply", "--server-side", "--force-conflicts", "--filename=install-standalone.yaml"}
	run(install...)
	run(install...)
	By("upgrading, and installing the same as people are used to")
	next := "example.org/manager:v1.2.4"
	content, err := os.ReadFile(filepath.Join(dist, "install-standalone.yaml"))
	Expect(err).NotTo(HaveOccurred())
	upgraded := strings.ReplaceAll(string(content), image, next)
	Expect(os.WriteFile(filepath.Join(dist, "install-standalone.yaml"), []byte(upgraded), 0o600)).To(Succeed())
	run(install...)
	run("apply", "--filename=install-standalone.yaml")
	run("apply", "--filename=install-standalone.yaml")
	deployment := &appsv1.Deployment{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "machinist-controller-manager"}, deployment)).To(Succeed())
	Expect(deployment.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Image", next)))
	By("removing it")
	hooks := manifestsOf(filepath.Join(dist, "install-standalone.yaml")).of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	for _, hook := range hooks { // nobody answers here
		Expect(k8s.Delete(ctx, hook)).To(Succeed())
	}
	stored := builder.Machine("default", "stored").Build()
	Eventually(k8s.Create).WithArguments(stored).WithContext(ctx).Should(Succeed(), "as soon as the kind is served")
	run("replace", "--filename=crds.yaml")
	run("delete", "--ignore-not-found", "--filename=uninstall-standalone.yaml")
	expectUninstalled(ctx, k8s, render(ctx, "default"), stored)
	run("delete", "--filename=crds.yaml")
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(stored), stored)).NotTo(Succeed())
})

var _ = It("make touches no definitions of Cluster API, though it has brought them", func(ctx SpecContext) {
	env := startEnvironment(ctx)
	k8s := manager.User(env, "deployment-test")
	run := func(args ...string) {
		GinkgoHelper()
		output, err := runMake(ctx, env, append(args, "IMG="+image)...)
		Expect(err).NotTo(HaveOccurred(), output)
	}
	expectRefused := func(message string, args ...string) {
		GinkgoHelper()
		output, err := runMake(ctx, env, append(args, "IMG="+image)...)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(message))
	}
	definitions := func() map[string]string {
		GinkgoHelper()
		found := map[string]string{}
		list := &apiextensionsv1.CustomResourceDefinitionList{}
		Expect(k8s.List(ctx, list)).To(Succeed())
		for _, crd := range list.Items {
			found[crd.Name] = fmt.Sprint(crd.UID, crd.Generation, crd.Labels)
		}
		return found
	}
	run("deploy")
	By("having clusterctl init take them for Cluster API's")
	for name := range definitions() {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(k8s.Patch(ctx, crd, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"cluster.x-k8s.io/provider":"cluster-api"}}}`)))).To(Succeed())
	}
	before := definitions()
	Expect(before).To(HaveLen(3))
	const has = "the cluster of KUBECONFIG has the CRDs of Cluster API, which make "
	expectRefused(has+"install would replace: Machinist works with them, in the flavour coexist", "install")
	expectRefused(has+"uninstall would delete, with every Machine and Cluster: leave them to Cluster API", "uninstall")
	expectRefused(has+"deploy would replace: use OVERLAY=coexist", "deploy")
	expectRefused("make undeploy OVERLAY=standalone first", "deploy", "OVERLAY=coexist")
	run("undeploy", "OVERLAY=standalone")
	for _, target := range []string{"deploy", "undeploy"} {
		run(target, "OVERLAY=overlays/coexist")
	}
	Expect(definitions()).To(Equal(before))
})

// runMake runs a target of the Makefile against a control plane and returns all that it printed.
func runMake(ctx context.Context, env *environment.Environment, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", "--directory=" + root}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.KubeconfigPath)
	output, err := command.CombinedOutput()
	return string(output), err
}

// manifestsOf returns the objects of a file.
func manifestsOf(path string) manifests {
	GinkgoHelper()
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return suite.Decode(content)
}

// findKubectl returns the path of the kubectl that the Makefile would use.
func findKubectl(ctx context.Context) string {
	GinkgoHelper()
	if path, err := exec.LookPath("kubectl"); err == nil {
		return path
	}
	command := exec.CommandContext(ctx, "go", "-C", root+"/hack/controlplane", "run", "./ensure", "-components=kubectl")
	command.Stderr = GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(strings.TrimSpace(string(output)), "kubectl")
}

// expectUninstalled makes sure that nothing of a flavour is left but the definitions, and that what is stored can be read without
// a manager, which would have to convert it.
func expectUninstalled(ctx context.Context, k8s client.Client, flavour manifests, stored *clusterv1.Machine) {
	GinkgoHelper()
	for _, object := range flavour.without("CustomResourceDefinition") {
		left := &unstructured.Unstructured{}
		left.SetGroupVersionKind(object.GroupVersionKind())
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(object), left) }).WithContext(ctx).
			WithTimeout(suite.CollectionTimeout).Should(Satisfy(apierrors.IsNotFound), "%s %s", object.GetKind(), object.GetName())
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	Expect(k8s.List(ctx, definitions)).To(Succeed())
	Expect(definitions.Items).NotTo(BeEmpty())
	Expect(definitions.Items).To(HaveEach(HaveField("Spec.Conversion.Strategy", apiextensionsv1.NoneConverter)))
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(stored), &clusterv1.Machine{})).To(Succeed())
}

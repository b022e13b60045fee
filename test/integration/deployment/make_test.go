// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
)

var _ = It("make deploy installs and upgrades, and make undeploy leaves what people have stored", func(ctx SpecContext) {
	env := startEnvironment(ctx)
	k8s := manager.User(env, "deployment-test")
	run := func(args ...string) {
		GinkgoHelper()
		command := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", "--directory=../../.."}, args...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+env.KubeconfigPath)
		output, err := command.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
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

	for range 2 {
		By("undeploying")
		run("undeploy", "IMG=example.org/manager:v2")
		for _, object := range render(ctx, "default").without("CustomResourceDefinition") {
			left := &unstructured.Unstructured{}
			left.SetGroupVersionKind(object.GroupVersionKind())
			Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(object), left) }).WithContext(ctx).
				WithTimeout(suite.CollectionTimeout).Should(MatchError(ContainSubstring("not found")), "%s %s", object.GetKind(), object.GetName())
		}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(stored), &clusterv1.Machine{})).To(Succeed())
	}
	run("uninstall")
})

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/machinist-dev/machinist/controllers"
)

var _ = Describe("In every flavour", func() {
	each := func(text string, check func(m manifests, deployments []*appsv1.Deployment)) {
		for _, flavour := range flavours {
			It(text+": "+flavour, func(ctx SpecContext) {
				m := render(ctx, flavour)
				deployments := as[appsv1.Deployment](m.of("Deployment"))
				Expect(deployments).NotTo(BeEmpty())
				check(m, deployments)
			})
		}
	}

	each("the manager understands its arguments", func(_ manifests, deployments []*appsv1.Deployment) {
		for _, d := range deployments {
			options := controllers.Options{}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			options.FlagGroups().AddTo(flags)
			args := strings.ReplaceAll(strings.Join(d.Spec.Template.Spec.Containers[0].Args, "\n"), "$(POD_NAMESPACE)", namespace)
			Expect(flags.Parse(strings.Split(args, "\n"))).To(Succeed())
			Expect(options.Validate()).To(Succeed())
			Expect(flags.Args()).To(BeEmpty())
			Expect(options.LeaderElect).To(BeTrue(), "there are several replicas")
			Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
		}
	})

	each("what is named is there", func(m manifests, deployments []*appsv1.Deployment) {
		accounts := m.of("ServiceAccount").names()
		for _, d := range deployments {
			Expect(accounts).To(ContainElement(d.Spec.Template.Spec.ServiceAccountName))
			for _, volume := range d.Spec.Template.Spec.Volumes {
				if volume.Secret != nil {
					Expect(secrets(m)).To(ContainElement(volume.Secret.SecretName))
					if mode := volume.Secret.DefaultMode; mode != nil && *mode&0o004 == 0 {
						Expect(d.Spec.Template.Spec.SecurityContext.FSGroup).NotTo(BeNil(), "its files belong to root, and the manager is nobody")
					}
				}
			}
		}
		for _, object := range m.of("RoleBinding", "ClusterRoleBinding") {
			binding := as[rbacv1.ClusterRoleBinding](manifests{object})[0] // both kinds have the same fields
			Expect(m.of(binding.RoleRef.Kind).names()).To(ContainElement(binding.RoleRef.Name))
			Expect(binding.Subjects).To(HaveEach(And(HaveField("Namespace", namespace), HaveField("Name", BeElementOf(accounts)))))
		}
		for _, hook := range webhooks(m) {
			Expect(hook.ClientConfig.Service).NotTo(BeNil(), hook.Name)
			Expect(hook.ClientConfig.Service.Namespace).To(Equal(namespace))
			Expect(m.of("Service").names()).To(ContainElement(hook.ClientConfig.Service.Name))
		}
		clusterScoped := regexp.MustCompile("^ClusterRole|WebhookConfiguration$|AdmissionPolicy|^CustomResourceDefinition$|^Namespace$")
		flavour := deployments[0].Labels[flavourLabel]
		Expect(flavour).NotTo(BeEmpty())
		for _, object := range m {
			Expect(object.GetLabels()).To(HaveKeyWithValue(flavourLabel, flavour), "%s %s", object.GetKind(), object.GetName())
			where := namespace
			if clusterScoped.MatchString(object.GetKind()) {
				where = ""
			}
			Expect(object.GetNamespace()).To(Equal(where), "%s %s", object.GetKind(), object.GetName())
			Expect(object.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/part-of", "machinist"), "%s %s", object.GetKind(), object.GetName())
		}
	})

	// One that is refused can keep a whole namespace from going.
	each("nobody is asked about a deletion", func(m manifests, _ []*appsv1.Deployment) {
		Expect(webhooks(m)).NotTo(BeEmpty())
		for _, hook := range webhooks(m) {
			for _, rule := range hook.Rules {
				Expect(rule.Operations).To(HaveEach(BeElementOf(admissionregistrationv1.Create, admissionregistrationv1.Update)), hook.Name)
			}
		}
	})

	each("pods are found by what selects them", func(m manifests, deployments []*appsv1.Deployment) {
		ports := func(d *appsv1.Deployment) []string {
			var names []string
			for _, port := range d.Spec.Template.Spec.Containers[0].Ports {
				names = append(names, port.Name)
			}
			return names
		}
		for _, d := range deployments {
			pod := labels.Set(d.Spec.Template.Labels)
			for _, service := range as[corev1.Service](m.of("Service")) {
				Expect(labels.SelectorFromSet(service.Spec.Selector).Matches(pod)).To(BeTrue())
				Expect(service.Spec.Ports).To(HaveEach(HaveField("TargetPort.StrVal", BeElementOf(ports(d)))))
			}
			for _, policy := range as[networkingv1.NetworkPolicy](m.of("NetworkPolicy")) {
				Expect(selects(&policy.Spec.PodSelector, pod)).To(BeTrue())
				for _, rule := range policy.Spec.Ingress {
					Expect(rule.Ports).To(HaveEach(HaveField("Port", HaveValue(HaveField("StrVal", BeElementOf(ports(d)))))))
				}
			}
			for _, constraint := range d.Spec.Template.Spec.TopologySpreadConstraints {
				Expect(selects(constraint.LabelSelector, pod)).To(BeTrue())
			}
			budgets := slices.DeleteFunc(as[policyv1.PodDisruptionBudget](m.of("PodDisruptionBudget")), func(b *policyv1.PodDisruptionBudget) bool { return !selects(b.Spec.Selector, pod) })
			Expect(budgets).To(HaveLen(1), "Kubernetes evicts no pod that has two budgets")
			Expect(budgets[0].Spec.MaxUnavailable).To(HaveValue(Equal(intstr.FromInt32(1))))
		}
	})

	each("no role is larger than it must be", func(m manifests, _ []*appsv1.Deployment) {
		for _, object := range m.of("Role", "ClusterRole") {
			role := as[rbacv1.ClusterRole](manifests{object})[0]
			for _, rule := range role.Rules {
				Expect(rule.Verbs).NotTo(ContainElement("*"), role.Name)
				Expect(rule.APIGroups).NotTo(ContainElement("*"), role.Name)
				if slices.Contains(rule.Resources, "secrets") {
					Expect(rule.Verbs).To(HaveEach(BeElementOf("get", "update")), role.Name)
					Expect(slices.Contains(rule.Verbs, "update")).To(Equal(len(rule.ResourceNames) > 0), role.Name)
				}
				if slices.Contains(rule.Resources, "leases") {
					Expect(slices.Contains(rule.Verbs, "create")).To(Equal(len(rule.ResourceNames) == 0), role.Name)
				}
				if slices.Contains(rule.Resources, "*") {
					Expect(rule.APIGroups).To(HaveEach(HaveSuffix(".cluster.x-k8s.io")), role.Name)
				}
			}
		}
	})
})

var _ = Describe("In every flavour", func() {
	const prefix = "controller-leader-election-machinist" // what the manager adds its watch filter to
	for _, flavour := range flavours {
		It("the Leases are there that its managers hold, and its role names them: "+flavour, func(ctx SpecContext) {
			m := render(ctx, flavour)
			var held []string
			for _, d := range as[appsv1.Deployment](m.of("Deployment")) {
				name := prefix
				for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
					if filter, found := strings.CutPrefix(arg, "--watch-filter="); found {
						name += "-" + filter
					}
				}
				held = append(held, name)
			}
			Expect(m.of("Lease").names()).To(ConsistOf(held))
			for _, rule := range as[rbacv1.Role](manifests{m.of("Role").named("machinist-leader-election-role")})[0].Rules {
				if slices.Contains(rule.Resources, "leases") && !slices.Contains(rule.Verbs, "create") {
					Expect(rule.ResourceNames).To(ConsistOf(held))
				}
			}
		})
	}
})

var _ = It("A namespaced installation has no more ClusterRoles than what has no namespace asks for", func(ctx SpecContext) {
	m := render(ctx, "overlays/namespaced")
	var bound []string
	for _, binding := range as[rbacv1.ClusterRoleBinding](m.of("ClusterRoleBinding")) {
		bound = append(bound, binding.RoleRef.Name)
	}
	Expect(bound).To(ConsistOf("machinist-definitions-role", "machinist-metrics-auth-role", "machinist-admission-ca-role", "machinist-conversion-ca-role"))
	Expect(m.of("Role").names()).To(ContainElement("machinist-manager-role"))
	Expect(m.of("Namespace")).To(BeEmpty(), "it belongs to somebody else")
	for _, hook := range webhooks(m) {
		Expect(hook.NamespaceSelector).To(HaveValue(HaveField("MatchLabels", Equal(map[string]string{"kubernetes.io/metadata.name": namespace}))), hook.Name)
	}
	Expect(as[appsv1.Deployment](m.of("Deployment"))[0].Spec.Template.Spec.Containers[0].Args).To(ContainElement("--namespace=$(POD_NAMESPACE)"))
})

var _ = It("Beside Cluster API nothing of it is touched, and no write of its depends on us", func(ctx SpecContext) {
	m := render(ctx, "overlays/coexist")
	Expect(m.of("CustomResourceDefinition")).To(BeEmpty())
	Expect(webhooks(m)).NotTo(BeEmpty())
	for _, hook := range webhooks(m) {
		Expect(hook.ObjectSelector).To(HaveValue(HaveField("MatchLabels", Equal(map[string]string{"cluster.x-k8s.io/watch-filter": "machinist"}))), hook.Name)
		Expect(hook.FailurePolicy).To(HaveValue(Equal(admissionregistrationv1.Ignore)), hook.Name)
	}
	for _, object := range m {
		if object.GetKind() != "Lease" { // the name of the manager is at its end
			Expect(object.GetName()).To(HavePrefix("machinist"))
		}
		Expect(object.GetNamespace()).NotTo(HavePrefix("capi"))
	}
	for _, role := range as[rbacv1.ClusterRole](m.of("ClusterRole")) {
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, "customresourcedefinitions") {
				Expect(rule.Verbs).To(HaveEach(BeElementOf("get", "list", "watch")))
			}
		}
	}
	Expect(as[appsv1.Deployment](m.of("Deployment"))[0].Spec.Template.Spec.Containers[0].Args).To(ContainElement("--watch-filter=machinist"))
})

var _ = It("Shards have nothing in common but what is the same for all", func(ctx SpecContext) {
	deployments := as[appsv1.Deployment](render(ctx, "overlays/sharded").of("Deployment"))
	Expect(deployments).To(HaveLen(2))
	Expect(selects(deployments[0].Spec.Selector, deployments[1].Spec.Template.Labels)).To(BeFalse())
	filters := map[string]bool{}
	for _, d := range deployments {
		for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--watch-filter=") {
				filters[arg] = true
			}
		}
	}
	Expect(filters).To(HaveLen(2))
})

// Why make deploys no flavour over another.
var _ = It("Whatever flavour takes the place of another, something of the other would stay", func(ctx SpecContext) {
	names := map[string][]string{}
	for _, flavour := range flavours {
		for _, object := range render(ctx, flavour) {
			names[flavour] = append(names[flavour], object.GetKind()+" "+object.GetName())
		}
	}
	for _, from := range flavours {
		for _, to := range flavours {
			if from != to {
				Expect(names[to]).NotTo(ContainElements(names[from]), "%s to %s", from, to)
			}
		}
	}
})

var _ = Describe("hack/manifests.sh", func() {
	const names = "expected standalone, coexist, cert-manager, sharded, namespaced or prometheus, or a folder below config/, as in overlays/coexist"

	DescribeTable("takes a flavour by its name and by its folder", func(ctx SpecContext, name, folder string) {
		m := render(ctx, name)
		Expect(render(ctx, folder)).To(Equal(m))
		Expect(render(ctx, "config/"+folder)).To(Equal(m))
		Expect(m.of("Deployment")).To(HaveEach(HaveField("GetLabels()", HaveKeyWithValue(flavourLabel, name))))
	},
		Entry(nil, "standalone", "default"),
		Entry(nil, "coexist", "overlays/coexist"),
		Entry(nil, "cert-manager", "overlays/cert-manager"),
		Entry(nil, "sharded", "overlays/sharded"),
		Entry(nil, "namespaced", "overlays/namespaced"),
	)

	DescribeTable("refuses", func(ctx SpecContext, message string, args ...string) {
		output, err := exec.CommandContext(ctx, script, args...).CombinedOutput()
		Expect(err).To(HaveOccurred())
		Expect(string(output)).To(Equal("manifests: " + message + "\n"))
	},
		Entry("nothing", "no flavour is given: "+names),
		Entry("an empty name", `there is no flavour "": `+names, ""),
		Entry("what isn't there", `there is no flavour "nowhere": `+names, "nowhere"),
		Entry("an image that could be any", "image example.org:5000/manager has neither tag nor digest: what runs later would depend on when it is pulled",
			"default", "example.org:5000/manager"),
		Entry("what it doesn't know", "what is --crds? Expected --without-crds or --namespace=NAME", "default", image, "--crds"),
		Entry("a namespace that can't be", `"Team" is no name of a namespace`, "overlays/namespaced", image, "--namespace=Team"),
		Entry("to share a namespace that it would delete", "config/default brings the namespace machinist-system, and can't be in team: "+
			"only namespaced and prometheus can", "default", image, "--namespace=team"),
	)

	It("takes an image by its digest", func(ctx SpecContext) {
		byDigest := "example.org/manager@sha256:" + strings.Repeat("0", 64)
		d := as[appsv1.Deployment](renderWith(ctx, "default", byDigest).of("Deployment"))[0]
		Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal(byDigest))
	})

	It("puts what brings no namespace into another one, with all that names it", func(ctx SpecContext) {
		output := func(args ...string) string {
			GinkgoHelper()
			printed, err := exec.CommandContext(ctx, script, args...).Output()
			Expect(err).NotTo(HaveOccurred())
			return string(printed)
		}
		ours := namespace + "/manager:v1" // an image stays as it is
		for _, folder := range []string{"overlays/namespaced", "prometheus"} {
			usual, other := output(folder, ours), output(folder, ours, "--namespace=team")
			Expect(other).To(ContainSubstring("namespace: team\n"))
			Expect(strings.ReplaceAll(other, ours, "")).NotTo(ContainSubstring(namespace))
			Expect(strings.ReplaceAll(other, ours, "")).To(Equal(strings.ReplaceAll(strings.ReplaceAll(usual, ours, ""), namespace, "team")))
		}
	})

	It("leaves out CustomResourceDefinitions, and nothing else, on request", func(ctx SpecContext) {
		all, rest := render(ctx, "default"), renderWith(ctx, "default", image, "--without-crds")
		Expect(all.of("CustomResourceDefinition")).NotTo(BeEmpty())
		Expect(rest).To(Equal(all.without("CustomResourceDefinition")))
	})
})

func selects(selector *metav1.LabelSelector, pod labels.Set) bool {
	GinkgoHelper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	Expect(err).NotTo(HaveOccurred())
	return s.Matches(pod)
}

// secrets are the names of those that are there, or that cert-manager writes.
func secrets(m manifests) []string {
	names := m.of("Secret").names()
	for _, certificate := range m.of("Certificate") {
		if spec, ok := certificate.Object["spec"].(map[string]any); ok {
			names = append(names, spec["secretName"].(string))
		}
	}
	return names
}

// webhooks are the entries of both kinds of configurations.
func webhooks(m manifests) []admissionregistrationv1.ValidatingWebhook {
	GinkgoHelper()
	var hooks []admissionregistrationv1.ValidatingWebhook
	for _, object := range m.of("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") {
		// A mutating webhook has one more field, which we don't set.
		hooks = append(hooks, as[admissionregistrationv1.ValidatingWebhookConfiguration](manifests{object})[0].Webhooks...)
	}
	return hooks
}

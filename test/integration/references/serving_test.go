// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
)

// managerUser is whom the manifest takes the manager for.
const managerUser = "system:serviceaccount:machinist-system:machinist-manager"

// modeLabel of a namespace names the entry that its Machines are sent to.
const modeLabel = "test.machinist.dev/mode"

// managerConfig is the access of a manager as it is deployed.
func managerConfig() *rest.Config {
	cfg := rest.CopyConfig(env.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser}
	return cfg
}

// grantManager lets the manager do everything but read what is forbidden to it.
func grantManager(ctx context.Context) {
	GinkgoHelper()
	grant(ctx, managerUser,
		// As config/rbac has it: not even a get. To create one is for specs about what the manager writes itself.
		rule("cluster.x-k8s.io", "machines", "list", "watch", "patch", "create"), rule("cluster.x-k8s.io", "machines/status", "patch"),
		rule("cluster.x-k8s.io", "clusters", "list", "watch"), rule("cluster.x-k8s.io", "machinedrainrules", "list", "watch"),
		rule("cluster.x-k8s.io", "machinesets", "list", "watch"), rule("cluster.x-k8s.io", "machinedeployments", "list", "watch"),
		rule(infraGroup, "*", "*"), rule("bootstrap.cluster.x-k8s.io", "*", "*"), rule("controlplane.cluster.x-k8s.io", "*", "*"),
		rule("apiextensions.k8s.io", "customresourcedefinitions", "get", "list", "watch"),
		rule("authorization.k8s.io", "subjectaccessreviews", "create"),
		rule("coordination.k8s.io", "leases", "*"), rule("events.k8s.io", "events", "*"), rule("", "events", "*"), rule("", "secrets", "get"),
	)
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func grant(ctx context.Context, user string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	name := metav1.ObjectMeta{Name: "test:" + user}
	Expect(k8s.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: rules})).To(Succeed())
	Expect(k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})).To(Succeed())
}

// counts is the one meter of all webhooks that this process serves.
var counts = meter.New()

// counted has the series of that meter, and no others.
func counted() prometheus.Gatherer {
	GinkgoHelper()
	registry := prometheus.NewPedanticRegistry()
	Expect(registry.Register(counts)).To(Succeed())
	return registry
}

// serving is a manager with a webhook server of its own.
type serving struct {
	ctrl.Manager
	server webhook.Server
}

// GetWebhookServer implements manager.Manager.
func (s serving) GetWebhookServer() webhook.Server { return s.server }

// register installs the manifest for namespaces with the label. It has the API server ask a port of this computer.
func register(label string) *envtest.WebhookInstallOptions {
	GinkgoHelper()
	install := &envtest.WebhookInstallOptions{Paths: []string{"../../../config/webhook/references.yaml"}, LocalServingHost: "127.0.0.1"}
	Expect(install.PrepWithoutInstalling()).To(Succeed())
	DeferCleanup(install.Cleanup)
	Expect(install.ValidatingWebhooks).To(HaveLen(1))
	configuration := install.ValidatingWebhooks[0]
	configuration.Name = "references-" + label
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{modeLabel: label}}
	}
	Expect(install.Install(env.Config)).To(Succeed())
	return install
}

// serve lets the manager judge the Machines of namespaces with the label, and waits until it does.
func serve(ctx SpecContext, mgr ctrl.Manager, mode references.Mode, label string) {
	GinkgoHelper()
	Expect(mgr.Add(listen(mgr, mode, label))).To(Succeed())
	p := newNamespace(ctx, label)
	Eventually(func() answer { return admin.tries(ctx, p.machine("m").Build()) }).WithContext(ctx).Should(warnAbout("spec.clusterName R15"))
}

// listen returns a webhook server, which isn't started, for the Machines of namespaces with the label.
func listen(mgr ctrl.Manager, mode references.Mode, label string) webhook.Server {
	GinkgoHelper()
	install := register(label)
	server := webhook.NewServer(webhook.Options{Host: install.LocalServingHost, Port: install.LocalServingPort, CertDir: install.LocalServingCertDir})
	Expect(references.SetupWithManager(serving{mgr, server}, references.Options{
		Mode: mode, Machines: machine.Finder{Reader: mgr.GetCache()}, Meter: counts,
	})).To(Succeed())
	return server
}

// calls are how often this process was asked about Machines, by operation.
func calls() map[string]int {
	GinkgoHelper()
	families, err := counted().Gather()
	Expect(err).NotTo(HaveOccurred())
	byOperation := map[string]int{}
	for _, family := range families {
		if family.GetName() != "machinist_reference_validation_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			byOperation[metric.GetLabel()[0].GetValue()] += int(metric.GetHistogram().GetSampleCount())
		}
	}
	return byOperation
}

// verdicts are how often the rule had the outcome.
func verdicts(rule, outcome string) int {
	GinkgoHelper()
	families, err := counted().Gather()
	Expect(err).NotTo(HaveOccurred())
	count := 0
	for _, family := range families {
		if family.GetName() != "machinist_reference_validation_rules_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			if all := strings.Join(labels, ","); strings.Contains(all+",", "rule="+rule+",") && strings.Contains(all, "outcome="+outcome+",") {
				count += int(metric.GetCounter().GetValue())
			}
		}
	}
	return count
}

// failedOpen is how often the API server has gone on without an answer of the webhook.
func failedOpen(ctx context.Context, webhook string) float64 {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(env.Config)
	Expect(err).NotTo(HaveOccurred())
	text, err := clientset.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	count := 0.0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_admission_webhook_fail_open_count{") && strings.Contains(line, `name="`+webhook+`"`) {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
			Expect(err).NotTo(HaveOccurred())
			count += value
		}
	}
	return count
}

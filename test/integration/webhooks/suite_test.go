// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooks tests defaulting and validation as users meet them: a real kube-apiserver asks the real webhook server.
// Objects that break a rule are stored before the API server knows of the webhooks, as they are where somebody installs
// them later or turns a feature off.
package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	machinewebhook "github.com/machinist-dev/machinist/webhooks/machine"
	"github.com/machinist-dev/machinist/webhooks/machinedrainrule"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
)

func TestWebhooks(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Webhooks on a real API server")
}

var (
	env   *environment.Environment
	hooks *envtest.WebhookInstallOptions
	k8s   client.Client
	// warned is what the API server has warned k8s of.
	warned = &warnings{}
	// past is the namespace of what was stored before the webhooks were installed.
	past string
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	cfg := env.ConfigFor("webhooks-test")
	cfg.QPS, cfg.WarningHandlerWithContext = -1, warned
	var err error
	k8s, err = client.New(cfg, client.Options{Scheme: controllers.NewScheme()})
	Expect(err).NotTo(HaveOccurred())

	hooks = suite.Webhooks("../../../config/webhook/manifests.yaml")
	serve()
	past = suite.Namespace(ctx, env)
	for _, object := range violations(past) {
		Expect(k8s.Create(ctx, object)).To(Succeed())
	}
	Expect(hooks.Install(env.Config)).To(Succeed())
	// The API server has installed them before it asks them.
	Eventually(func(ctx context.Context) error {
		return k8s.Create(ctx, machineWith(past, "probe", map[string]any{"version": "v1"}), client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("denied the request")))
	Eventually(func(ctx context.Context) error {
		return k8s.Create(ctx, drainRule(past, "probe", map[string]any{"behavior": "Skip", "order": int64(1)}), client.DryRunAll)
	}).WithContext(ctx).Should(MatchError(ContainSubstring("denied the request")))
})

// serve runs a webhook server with all features off until the end of the suite. Rules that look at the objects referenced
// have a suite of their own.
func serve() {
	GinkgoHelper()
	server := webhook.NewServer(webhook.Options{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir})
	mgr, err := ctrl.NewManager(env.ConfigFor("webhooks"), ctrl.Options{
		Scheme: controllers.NewScheme(), WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
	})
	Expect(err).NotTo(HaveOccurred())
	counts := meter.New()
	Expect(machinewebhook.SetupWithManager(mgr, machinewebhook.Options{Meter: counts})).To(Succeed())
	Expect(machinedrainrule.SetupWithManager(mgr)).To(Succeed())
	Expect(references.SetupWithManager(mgr, references.Options{Mode: references.Off, Meter: counts})).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	Eventually(func() error { return server.StartedChecker()(nil) }).Should(Succeed())
}

// warnings keeps the warnings of the API server.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since it was called last, but for those about the name of our finalizer.
func (w *warnings) take() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var texts []string
	for _, text := range w.texts {
		if !strings.Contains(text, "finalizer") {
			texts = append(texts, text)
		}
	}
	w.texts = nil
	return texts
}

// machine is one that breaks no rule.
func machine(namespace, name string) *clusterv1.Machine {
	return builder.Machine(namespace, name).Build()
}

// machineWith is a Machine with fields of spec that replace those of one that breaks no rule; nil removes a field. It is
// unstructured, so that what the API server is sent is what stands here.
func machineWith(namespace, name string, spec map[string]any) *unstructured.Unstructured {
	all := map[string]any{
		"clusterName":       "cluster",
		"bootstrap":         map[string]any{"dataSecretName": "data"},
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimMachine", "name": "m"},
	}
	for field, value := range spec {
		if all[field] = value; value == nil {
			delete(all, field)
		}
	}
	return object("Machine", namespace, name, runtime.DeepCopyJSON(all))
}

// drainRule is a MachineDrainRule for all Pods.
func drainRule(namespace, name string, drain map[string]any) *unstructured.Unstructured {
	return object("MachineDrainRule", namespace, name, map[string]any{"drain": drain})
}

func object(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     spec,
	}}
}

// patch sends a merge patch.
func patch(ctx context.Context, target client.Object, change map[string]any, options ...client.PatchOption) error {
	GinkgoHelper()
	content, err := json.Marshal(change)
	Expect(err).NotTo(HaveOccurred())
	sent := target.DeepCopyObject().(client.Object)
	return k8s.Patch(ctx, sent, client.RawPatch(types.MergePatchType, content), options...)
}

// refusal is what an error says as the API server passes it on.
func refusal(err error) metav1.Status {
	GinkgoHelper()
	Expect(err).To(HaveOccurred())
	status, ok := errors.AsType[*apierrors.StatusError](err)
	Expect(ok).To(BeTrue(), "%T: %v", err, err)
	return status.Status()
}

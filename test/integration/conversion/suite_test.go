// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion tests v1beta1 on a real kube-apiserver that asks the manager's webhook over TLS, with the
// CustomResourceDefinitions patched as config/crd/patches says.
package conversion

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/watchcache"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	webhookconversion "github.com/machinist-dev/machinist/webhooks/conversion"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
)

func TestConversion(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "API version v1beta1 on a real API server")
}

var (
	env     *environment.Environment
	serving = envtest.WebhookInstallOptions{LocalServingHost: "127.0.0.1", Paths: []string{"../../../config/webhook/references.yaml"}}
	// oldUser speaks v1beta1, newUser v1beta2.
	oldUser, newUser client.WithWatch
	// servedWithoutWebhook are the resources of v1beta1 before the patches.
	servedWithoutWebhook []string
	stopManager          context.CancelFunc
	managerEnded         chan error
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	newUser = manager.User(env, "new")
	scheme := runtime.NewScheme()
	Expect(clusterv1beta1.AddToScheme(scheme)).To(Succeed())
	cfg := env.ConfigFor("old")
	cfg.QPS = -1
	var err error
	oldUser, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	resources, err := discovery.NewDiscoveryClientForConfigOrDie(env.Config).ServerResourcesForGroupVersion(clusterv1beta1.GroupVersion.String())
	Expect(err).NotTo(HaveOccurred())
	for _, resource := range resources.APIResources {
		servedWithoutWebhook = append(servedWithoutWebhook, resource.Name)
	}

	Expect(serving.PrepWithoutInstalling()).To(Succeed())
	DeferCleanup(serving.Cleanup)
	for _, name := range []string{"machines.cluster.x-k8s.io", "clusters.cluster.x-k8s.io"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name = name
		Expect(newUser.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, patches()))).To(Succeed())
	}
	startManager()
	DeferCleanup(endManager)
	awaitConversion(ctx)
})

// patches are those of config/crd/patches, with the webhook of this process instead of that of a Service.
func patches() []byte {
	GinkgoHelper()
	file, err := os.ReadFile("../../../config/crd/patches/conversion.yaml")
	Expect(err).NotTo(HaveOccurred())
	var operations []map[string]any
	Expect(yaml.Unmarshal(file, &operations)).To(Succeed())
	last := operations[len(operations)-1]
	Expect(last).To(HaveKeyWithValue("path", "/spec/conversion"))
	hook := last["value"].(map[string]any)["webhook"].(map[string]any)
	service := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
	hook["clientConfig"] = map[string]any{
		"url":      "https://" + address() + service["path"].(string),
		"caBundle": serving.LocalServingCAData,
	}
	data, err := json.Marshal(operations)
	Expect(err).NotTo(HaveOccurred())
	return data
}

func address() string {
	return net.JoinHostPort(serving.LocalServingHost, strconv.Itoa(serving.LocalServingPort))
}

// startManager starts a manager that does nothing but convert, and judge references if it is asked.
func startManager() {
	GinkgoHelper()
	mgr, err := ctrl.NewManager(env.ConfigFor("manager"), ctrl.Options{
		Scheme:  controllers.NewScheme(),
		Cache:   watchcache.ManagementOptions(watchcache.Management{SyncPeriod: 10 * time.Hour, CRD: external.CRDMetadata()}),
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: serving.LocalServingHost, Port: serving.LocalServingPort, CertDir: serving.LocalServingCertDir,
		}),
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(webhookconversion.SetupWithManager(mgr)).To(Succeed())
	Expect(references.SetupWithManager(mgr, references.Options{Mode: references.Warn, Machines: nobody{}, Meter: meter.New()})).To(Succeed())
	var ctx context.Context
	ctx, stopManager = context.WithCancel(context.Background())
	ended := make(chan error, 1)
	managerEnded = ended
	go func() { ended <- mgr.Start(ctx) }()
}

func endManager() {
	GinkgoHelper()
	stopManager()
	var err error
	Eventually(managerEnded).Should(Receive(&err))
	Expect(err).NotTo(HaveOccurred())
}

// awaitConversion waits until the API server lists v1beta1, after it was patched or could not reach the webhook.
func awaitConversion(ctx context.Context) {
	GinkgoHelper()
	for _, list := range []client.ObjectList{&clusterv1beta1.MachineList{}, &clusterv1beta1.ClusterList{}} {
		Eventually(func() error { return oldUser.List(ctx, list) }).WithContext(ctx).Should(Succeed(), fmt.Sprintf("%T", list))
	}
}

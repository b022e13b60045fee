// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references tests on a real kube-apiserver what is said at admission about the references of Machines: by the
// real webhook server, registered by the manifest that is deployed, so that its conditions are tested, too.
package references

import (
	"encoding/json"
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/webhooks/references"
)

func TestReferences(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "References of Machines at admission")
}

var (
	env   *environment.Environment
	k8s   client.Client // a user's client: live, not from a cache
	admin *user
	// alice may create Machines and read nothing.
	alice *user
)

const (
	infraGroup = "infrastructure.cluster.x-k8s.io"
	// modes are the values of the label of a namespace whose Machines are judged in that mode.
	warn    = string(references.Warn)
	enforce = string(references.Enforce)
)

// Kinds with something wrong.
var (
	noContract    = schema.GroupKind{Group: infraGroup, Kind: "Plain"}
	notServed     = schema.GroupKind{Group: infraGroup, Kind: "Outdated"}
	clusterScoped = schema.GroupKind{Group: infraGroup, Kind: "Worldwide"}
	forbidden     = schema.GroupKind{Group: "forbidden.example.org", Kind: "Secluded"}
	unwatched     = schema.GroupKind{Group: infraGroup, Kind: "Unwatched"}
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}, CountRequests: true})
	k8s = manager.User(env, "references-test")
	installKinds()
	serveOlderMachines(ctx)
	admin = newUser(rest.ImpersonationConfig{})
	alice = newUser(rest.ImpersonationConfig{UserName: "alice"})
	grant(ctx, "alice", rule("cluster.x-k8s.io", "machines", "create"))
	grantManager(ctx)
	simulated, err := simulator.Start(ctx, env.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(simulated.Stop)

	mgr := manager.Run(managerConfig(), manager.Options())
	serve(ctx, mgr, references.Warn, warn)
	serve(ctx, mgr, references.Enforce, enforce)
})

func installKinds() {
	GinkgoHelper()
	outdated := simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: notServed})
	outdated.Labels = map[string]string{contract.LabelPrefix + string(contract.V1Beta2): "v9"}
	worldwide := simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: clusterScoped})
	worldwide.Spec.Scope = apiextensionsv1.ClusterScoped
	suite.InstallCRDs(env,
		simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}),
		simulator.ControlPlaneCRD(simulator.CRDOptions{}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: noContract, Contracts: []contract.Version{}}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: forbidden}),
		simulator.InfraMachineCRD(simulator.CRDOptions{GroupKind: unwatched}),
		outdated, worldwide,
	)
}

// serveOlderMachines makes the API server accept Machines at v1beta1, of any content. They are not converted but for their
// apiVersion, which is enough to see what is asked about them.
func serveOlderMachines(ctx SpecContext) {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(k8s.Get(ctx, types.NamespacedName{Name: "machines.cluster.x-k8s.io"}, crd)).To(Succeed())
	older := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1beta1" })
	Expect(older).To(BeNumerically(">=", 0))
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	crd.Spec.Versions[older].Served = true
	crd.Spec.Versions[older].Deprecated = false // its warning is none of ours
	crd.Spec.Versions[older].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything}
	Expect(k8s.Update(ctx, crd)).To(Succeed())
}

// merge sends a JSON merge patch.
func merge(ctx SpecContext, object client.Object, content map[string]any) {
	GinkgoHelper()
	data, err := json.Marshal(content)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))).To(Succeed())
}

func mergeStatus(ctx SpecContext, object client.Object, status map[string]any) {
	GinkgoHelper()
	data, err := json.Marshal(map[string]any{"status": status})
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, data))).To(Succeed())
}

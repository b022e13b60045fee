// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/environment/suite"
)

func TestClusterAPIs(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "API group cluster.x-k8s.io")
}

var (
	env *environment.Environment
	c   client.Client
)

var _ = BeforeSuite(func(ctx SpecContext) {
	env = suite.Start(ctx, environment.Options{CRDPaths: []string{"../../../config/crd/bases"}})
	scheme := runtime.NewScheme()
	Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	var err error
	c, err = client.New(env.ConfigFor("specs"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

// machine returns the smallest Machine that the API server accepts.
func machine(namespace, name string) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: clusterv1.MachineSpec{
			ClusterName: "sim",
			Bootstrap:   clusterv1.Bootstrap{DataSecretName: new("bootstrap-data")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "SimMachine", Name: name,
			},
		},
	}
}

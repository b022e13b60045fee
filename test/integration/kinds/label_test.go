// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/machinist-dev/machinist/test/environment"
)

// followTime is how long it may take from the change of a contract label until a Machine of the kind shows it.
const followTime = 2 * time.Second

// What an InfraMachine says that is provisioned under one contract version, and is not under the other.
var (
	byOldContract = object{"ready": true, "initialization": object{"provisioned": false}}
	byNewContract = object{"ready": false, "initialization": object{"provisioned": true}}
)

var _ = DescribeTable("A contract label that moves is followed, and back, without a restart",
	func(ctx SpecContext, before, after []change, oldVersion, newVersion string) {
		p := newPlace(ctx)
		moving := p.kind("moving")
		moving.install(before...)
		startManager(p.namespace)

		// A Machine that only goes on under the other contract version shows when that is followed.
		waiting := func(apiVersion, name string, status object) {
			GinkgoHelper()
			moving.at(apiVersion).create(ctx, p.namespace, name, object{"spec": object{"providerID": "sim:///" + name}, "status": status})
			p.machine(ctx, moving, name)
			p.eventually(ctx, name, haveInfrastructureReady(metav1.ConditionFalse, "NotReady", "TestMachine status.initialization.provisioned is false"))
		}
		move := func(ctx context.Context, to []change, name, version string) {
			GinkgoHelper()
			begin := time.Now()
			moving.update(ctx, to...)
			p.eventually(ctx, name, HaveField("Spec.ProviderID", "sim:///"+name))
			taken := time.Since(begin)
			AddReportEntry("followed within", taken)
			Expect(taken).To(BeNumerically("<=", followTime))
			Eventually(openWatches(ctx, moving)).WithContext(ctx).Should(Equal(map[string]int{version: 1}))
		}
		waiting(oldVersion, "a", byNewContract)
		Eventually(openWatches(ctx, moving)).WithContext(ctx).Should(Equal(map[string]int{oldVersion: 1}))
		move(ctx, after, "a", newVersion)
		waiting(newVersion, "b", byOldContract)
		move(ctx, before, "b", oldVersion)
		if oldVersion == newVersion {
			watches := requests(ctx).Where(func(r environment.Request) bool { return r.Group == moving.Group && r.Verb == "watch" })
			Expect(watches).To(HaveLen(1), "the informer serves both contract versions")
		}
	},
	Entry("to another API version", []change{labelled(oldContract, oldAPI)}, []change{labelled(newContract, newAPI)}, oldAPI, newAPI),
	Entry("to another API version, when the old one stops being served at the same instant",
		[]change{labelled(oldContract, oldAPI), serving(oldAPI)}, []change{labelled(newContract, newAPI), serving(newAPI)}, oldAPI, newAPI),
	Entry("to another contract version of the same API version", []change{labelled(oldContract, newAPI)}, []change{labelled(newContract, newAPI)}, newAPI, newAPI),
)

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"runtime"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/machinist-dev/machinist/test/environment"
	"github.com/machinist-dev/machinist/test/manager"
)

var _ = It("A CRD may be deleted and installed again any number of times: nothing adds up, and Machines go on", func(ctx SpecContext) {
	const (
		cycles = 50
		warm   = 10 // after so many, connections and pools have the size that they keep
		// slack is for goroutines that are about to end, and for lines of the cycle before.
		slack = 10
		// linesPerCycle are what a manager may log when a CRD goes and comes.
		linesPerCycle = 2
	)
	p := newPlace(ctx)
	fickle := p.kind("fickle")
	fickle.install()
	startManager(p.namespace)
	p.machine(ctx, fickle, "m")
	p.eventually(ctx, "m", haveInfrastructureReady(metav1.ConditionFalse, "ObjectDoesNotExist", "TestMachine does not exist"))

	var goroutines int
	var lines int64
	for cycle := range cycles {
		if cycle == warm {
			goroutines, lines = runtime.NumGoroutine(), logs.lines.Load()
		}
		fickle.remove(ctx)
		if cycle%2 == 0 { // otherwise the CRD may be back before anybody has noticed
			p.eventually(ctx, "m", haveInfrastructureReady(metav1.ConditionUnknown, "CustomResourceDefinitionMissing", ContainSubstring("does not exist: install the provider")))
		}
		fickle.install()
		if cycle%10 == 0 {
			p.eventually(ctx, "m", haveInfrastructureReady(metav1.ConditionFalse, "ObjectDoesNotExist", "TestMachine does not exist"))
		}
	}
	p.server(ctx, fickle, "m")
	p.eventually(ctx, "m", HaveField("Status.Phase", "Running"))

	Eventually(openWatches(ctx, fickle)).WithContext(ctx).Should(Equal(map[string]int{newAPI: 1}))
	Eventually(runtime.NumGoroutine).WithContext(ctx).Should(BeNumerically("<=", goroutines+slack))
	Expect(logs.lines.Load() - lines).To(BeNumerically("<=", (cycles-warm)*linesPerCycle+slack))
	Expect(series("machinist_provider_informer_info")).To(HaveLen(1))
	AddReportEntry("after the warm-up", fmt.Sprintf("%d goroutines, then %d; %d log lines in %d cycles", goroutines, runtime.NumGoroutine(), logs.lines.Load()-lines, cycles-warm))
})

var _ = It("Machines whose CRD is missing say so and hold up nobody, and go on at once when it is installed", func(ctx SpecContext) {
	const many = 20
	p := newPlace(ctx)
	missing, other := p.kind("missing"), p.kind("other")
	other.install()
	startManager(p.namespace)
	for i := range many {
		p.machine(ctx, missing, fmt.Sprintf("missing-%d", i))
	}
	p.server(ctx, other, "other")
	p.machine(ctx, other, "other")
	p.eventually(ctx, "other", HaveField("Status.Phase", "Running"))

	message := fmt.Sprintf("CustomResourceDefinition testmachines.%s for TestMachine.%s does not exist: install the provider, or correct the reference", missing.Group, missing.Group)
	for i := range many {
		name := fmt.Sprintf("missing-%d", i)
		p.eventually(ctx, name, haveInfrastructureReady(metav1.ConditionUnknown, "CustomResourceDefinitionMissing", "TestMachine: "+message))
		Eventually(p.warnings(ctx, name)).WithContext(ctx).Should(ConsistOf("CustomResourceDefinitionMissing: TestMachine: " + message))
	}

	By("leaving everything alone while nothing changes")
	before, lines, asked := manager.Reconciles(), logs.lines.Load(), len(requests(ctx))
	Consistently(func() []int64 {
		return []int64{int64(manager.Reconciles() - before), logs.lines.Load() - lines, int64(len(requests(ctx)) - asked)}
	}).WithContext(ctx).Should(HaveEach(BeZero()), "reconciles, log lines, requests")

	By("going on when the CRD comes")
	missing.install()
	for i := range many {
		name := fmt.Sprintf("missing-%d", i)
		p.server(ctx, missing, name)
		p.eventually(ctx, name, HaveField("Status.Phase", "Running"))
		Expect(p.warnings(ctx, name)(Default)).To(HaveLen(1))
	}
	reads := requests(ctx).Where(func(r environment.Request) bool { return r.Group == missing.Group && r.Verb == "get" })
	Expect(reads.Counts()).To(BeEmpty(), "everything comes with the watch")
})

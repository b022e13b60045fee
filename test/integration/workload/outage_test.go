// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/workload"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	simulated "github.com/machinist-dev/machinist/test/simulator/workload"
)

// slow is how many seconds no reconcile should take. It is the bound of a bucket of the histogram.
const slow = 1

// slowReconciles is how many of the reconciles of this process have taken longer.
func slowReconciles() int {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	count, found := 0, false
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_time_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, bucket := range metric.GetHistogram().GetBucket() {
				if bucket.GetUpperBound() == slow {
					found = true
					count += int(metric.GetHistogram().GetSampleCount() - bucket.GetCumulativeCount())
				}
			}
		}
	}
	Expect(found).To(BeTrue())
	return count
}

const (
	goodClusters, badClusters = 15, 5
	perCluster                = 3
)

// clusters creates Clusters named <prefix>-0 and so on.
func (w world) clusters(ctx context.Context, prefix string, count int) []*simulated.Cluster {
	GinkgoHelper()
	var served []*simulated.Cluster
	for i := range count {
		served = append(served, w.cluster(ctx, fmt.Sprintf("%s-%d", prefix, i)))
	}
	return served
}

var _ = Describe("Of 20 Clusters 5 that don't answer", Serial, func() {
	one := func(o *controllers.Options) {
		o.MachineConcurrency = 1
		o.WorkloadTiming = workload.Timing{} // that of production: nothing is given up soon
	}

	It("never make the only worker wait, whether they have been connected before or not", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(one)
		bad := w.clusters(ctx, "bad", badClusters)
		for i, cluster := range bad[2:] {
			cluster.TakeDown(simulated.Hanging)
			w.workers(ctx, fmt.Sprintf("bad-%d", i+2), perCluster)
		}
		for i, cluster := range bad[:2] {
			w.workers(ctx, fmt.Sprintf("bad-%d", i), perCluster)
			w.eventuallyRunning(ctx, fmt.Sprintf("bad-%d", i), perCluster)
			cluster.TakeDown(simulated.Hanging)
		}
		before := slowReconciles()
		w.clusters(ctx, "good", goodClusters)
		for i := range goodClusters {
			w.workers(ctx, fmt.Sprintf("good-%d", i), perCluster)
		}
		for i := range goodClusters {
			w.eventuallyRunning(ctx, fmt.Sprintf("good-%d", i), perCluster)
		}
		Expect(slowReconciles()).To(Equal(before), "reconciles that took longer than a second")
		for i := range badClusters {
			w.eventually(ctx, worker(fmt.Sprintf("bad-%d", i), 0), func(g Gomega, m *clusterv1.Machine) {
				g.Expect(m.Spec.ProviderID).NotTo(BeEmpty(), "what needs no workload cluster goes on")
			})
		}
		for _, cluster := range bad {
			cluster.BringUp()
		}
	})

	It("hold up one request of a worker at most, when Machines with Nodes are deleted", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(one, func(o *controllers.Options) {
			o.WorkloadTiming = workload.Timing{ProbeInterval: 5 * time.Second, ProbeTimeout: time.Second}
		})
		bad, good := w.cluster(ctx, "bad"), w.cluster(ctx, "good")
		for _, name := range []string{"bad", "good"} {
			Expect(k8s.Create(ctx, builder.Machine(w.namespace, name+"-keeper").WithClusterName(name).WithControlPlane().Build())).To(Succeed())
			w.workers(ctx, name, 5)
			w.eventuallyRunning(ctx, name, 5)
		}
		before := slowReconciles()
		bad.TakeDown(simulated.Hanging)
		for i := range 5 {
			Expect(k8s.Delete(ctx, builder.Machine(w.namespace, worker("bad", i)).Build())).To(Succeed())
		}
		for i := range 5 {
			w.eventually(ctx, worker("bad", i), func(g Gomega, m *clusterv1.Machine) {
				g.Expect(m.Status.Conditions).To(haveCondition(clusterv1.MachineDeletingCondition, "True", Equal(clusterv1.MachineDeletingDrainingNodeReason)))
			})
		}
		for i := range 5 {
			Expect(k8s.Delete(ctx, builder.Machine(w.namespace, worker("good", i)).Build())).To(Succeed())
		}
		for i := range 5 {
			Eventually(w.isGone).WithArguments(worker("good", i)).WithContext(ctx).Should(BeTrue())
		}
		Expect(slowReconciles()-before).To(BeNumerically("<=", 1), "reconciles that took longer than a second")
		Expect(requests(good, "delete", "nodes")).To(Equal(5))

		Expect(requests(bad, "delete", "nodes")).To(BeZero(), "it doesn't answer")
		By("deleting the Nodes when the cluster is back")
		bad.BringUp()
		for i := range 5 {
			Eventually(w.isGone).WithArguments(worker("bad", i)).WithContext(ctx).WithTimeout(3 * suite.EventuallyTimeout).Should(BeTrue())
		}
	})

	It("don't slow the others down", func(ctx SpecContext) {
		w := newWorld(ctx)
		w.run(func(o *controllers.Options) { o.WorkloadTiming = workload.Timing{} })
		w.clusters(ctx, "good", goodClusters)
		bad := w.clusters(ctx, "bad", badClusters)
		for i := range badClusters {
			w.workers(ctx, fmt.Sprintf("bad-%d", i), perCluster)
			w.eventuallyRunning(ctx, fmt.Sprintf("bad-%d", i), perCluster)
		}
		var with, without []time.Duration
		round := func(n int) []time.Duration { return w.provision(ctx, fmt.Sprintf("round-%d", n)) }
		round(0) // warms up
		for n := range 3 {
			without = append(without, round(2*n+1)...)
			for _, cluster := range bad {
				cluster.TakeDown(simulated.Hanging)
			}
			with = append(with, round(2*n+2)...)
			for _, cluster := range bad {
				cluster.BringUp()
			}
		}
		p99, baseline := percentile(with, 99), percentile(without, 99)
		AddReportEntry("create to Running, p99 of the others", fmt.Sprintf("with %s, without %s: %.2f; p50 with %s, without %s",
			p99, baseline, float64(p99)/float64(baseline), percentile(with, 50), percentile(without, 50)))
	})
})

// provision creates Machines in the good Clusters, waits until they are Running, and returns how long each has taken.
func (w world) provision(ctx context.Context, round string) []time.Duration {
	GinkgoHelper()
	watching, err := k8s.Watch(ctx, &clusterv1.MachineList{}, client.InNamespace(w.namespace), client.MatchingLabels{"round": round})
	Expect(err).NotTo(HaveOccurred())
	defer watching.Stop()
	defer time.AfterFunc(3*suite.EventuallyTimeout, watching.Stop).Stop()
	var creating sync.WaitGroup
	created := map[string]time.Time{}
	creating.Go(func() {
		defer GinkgoRecover()
		for i := range goodClusters {
			for j := range perCluster {
				prefix := fmt.Sprintf("%s-%d-%d", round, i, j)
				for _, object := range w.machineObjects(fmt.Sprintf("good-%d", i), prefix, round) {
					Expect(k8s.Create(ctx, object)).To(Succeed())
				}
				created[worker(prefix, 0)] = time.Now()
			}
		}
	})
	running := map[string]time.Time{}
	for event := range watching.ResultChan() {
		m, ok := event.Object.(*clusterv1.Machine)
		if !ok || event.Type == watch.Error {
			Fail(fmt.Sprintf("watching Machines: %v", event.Object))
		}
		if _, known := running[m.Name]; !known && m.Status.Phase == "Running" {
			running[m.Name] = time.Now()
		}
		if len(running) == goodClusters*perCluster {
			break
		}
	}
	creating.Wait()
	Expect(running).To(HaveLen(goodClusters * perCluster))
	var durations []time.Duration
	for name, at := range running {
		durations = append(durations, at.Sub(created[name]))
	}
	return durations
}

func percentile(durations []time.Duration, p int) time.Duration {
	slices.Sort(durations)
	return durations[(len(durations)-1)*p/100].Round(time.Millisecond)
}

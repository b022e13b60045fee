// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
)

// keptByHTTP is how long Go's HTTP client keeps what belonged to connections, also to closed ones: 90 s, and some time to
// notice.
const keptByHTTP = 2 * time.Minute

// connectionGoroutines are those of connections of the manager.
func connectionGoroutines() int {
	GinkgoHelper()
	var stacks bytes.Buffer
	Expect(pprof.Lookup("goroutine").WriteTo(&stacks, 2)).To(Succeed())
	count := 0
	for stack := range bytes.SplitSeq(stacks.Bytes(), []byte("\n\n")) {
		if bytes.Contains(stack, []byte("machinist/controllers/workload.")) {
			count++
		}
	}
	return count
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what a cleanup or a weak pointer has held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

var _ = It("A Cluster that is deleted leaves nothing behind in the manager", Serial, func(ctx SpecContext) {
	const perRound, rounds = 8, 6
	w := newWorld(ctx)
	w.run()
	var connected uint64
	round := func(n int) {
		GinkgoHelper()
		for i := range perRound {
			name := fmt.Sprintf("c-%d-%d", n, i)
			w.cluster(ctx, name)
			w.workers(ctx, name, 1)
		}
		for i := range perRound {
			w.eventuallyRunning(ctx, fmt.Sprintf("c-%d-%d", n, i), 1)
		}
		connected = liveHeap()
		for i := range perRound {
			Expect(k8s.Delete(ctx, builder.Cluster(w.namespace, fmt.Sprintf("c-%d-%d", n, i)).Build())).To(Succeed())
		}
		w.eventuallyWithoutClusters(ctx)
		Eventually(connectionGoroutines).WithContext(ctx).Should(BeZero())
	}
	round(0)
	goroutines, heap := 0, uint64(0)
	Eventually(func(g Gomega) { // until the HTTP clients have ended, too
		goroutines = runtime.NumGoroutine()
		g.Consistently(runtime.NumGoroutine).WithContext(ctx).Should(BeNumerically("<=", goroutines))
		g.Consistently(runtime.NumGoroutine).WithContext(ctx).Should(BeNumerically(">=", goroutines-2))
	}).WithContext(ctx).Should(Succeed())
	heap = liveHeap()
	for n := range rounds {
		round(n + 1)
	}
	Eventually(runtime.NumGoroutine).WithContext(ctx).Should(BeNumerically("<=", goroutines+perRound))
	released := time.Now()
	perCluster := func() float64 { return (float64(liveHeap()) - float64(heap)) / (rounds * perRound) / 1024 }
	Eventually(perCluster).WithContext(ctx).WithTimeout(keptByHTTP).WithPolling(time.Second).Should(BeNumerically("<", 16), "KiB of each Cluster")
	AddReportEntry(fmt.Sprintf("heap that is left by each of %d Clusters, of about %d KiB while connected", rounds*perRound,
		(int64(connected)-int64(heap))/perRound/1024), fmt.Sprintf("%.1f KiB after %s", perCluster(), time.Since(released).Round(time.Second)))
})

func (w world) eventuallyWithoutClusters(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &clusterv1.ClusterList{}
		g.Expect(k8s.List(ctx, list)).To(Succeed())
		for i := range list.Items {
			g.Expect(list.Items[i].Namespace).NotTo(Equal(w.namespace))
		}
	}).WithContext(ctx).Should(Succeed())
}

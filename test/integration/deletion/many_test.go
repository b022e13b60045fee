// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/simulator"
)

const (
	// many is how many Machines live and die, unless MACHINIST_MACHINES says otherwise.
	many = 500
	// birthTime is within which they are created, and lifeTime how long each lives at most: in some the deletion finds
	// nothing, in some everything.
	birthTime = 10 * time.Second
	lifeTime  = 5 * time.Second
	// manyTimeout is how long it may take until the last is gone.
	manyTimeout = 5 * time.Minute
)

var _ = It("Many Machines that are created and deleted at any moment leave nothing behind", func(ctx SpecContext) {
	count, seed := many, rand.Uint64()
	if text := os.Getenv("MACHINIST_MACHINES"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		Expect(err).NotTo(HaveOccurred(), "MACHINIST_MACHINES")
	}
	AddReportEntry("seed", seed, ReportEntryVisibilityFailureOrVerbose)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(ctx)
	lives := make(chan error, count)
	for i := range count {
		l := life{
			name: fmt.Sprintf("m-%d", i), born: time.Duration(random.Int64N(int64(birthTime))), length: time.Duration(random.Int64N(int64(lifeTime))),
			delays: map[string]string{
				simulator.ProvisionDelayAnnotation: (time.Duration(random.IntN(1000)) * time.Millisecond).String(),
				simulator.NodeDelayAnnotation:      (time.Duration(random.IntN(500)) * time.Millisecond).String(),
				simulator.DeletionDelayAnnotation:  (time.Duration(500+random.IntN(500)) * time.Millisecond).String(),
			},
		}
		go func() { lives <- l.live(ctx, w) }()
	}
	for range count {
		Eventually(lives).WithContext(ctx).WithTimeout(manyTimeout).Should(Receive(BeNil()))
	}
	Eventually(func(g Gomega) {
		machines := &clusterv1.MachineList{}
		g.Expect(k8s.List(ctx, machines, client.InNamespace(w.namespace))).To(Succeed())
		left := map[string]int{}
		for i := range machines.Items {
			if m := &machines.Items[i]; m.Name != keeper {
				reason, message := deletingOf(m)
				left[reason+": "+message]++
			}
		}
		g.Expect(left).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(manyTimeout).WithPolling(time.Second).Should(Succeed())
	for _, kind := range []schema.GroupKind{simulator.SimMachine, simulator.SimConfig} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.WithVersion(simulator.NewAPIVersion))
		Expect(k8s.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		Expect(list.Items).To(ConsistOf(HaveField("Name", keeper)), "%s", kind)
	}
	Expect(w.workload.Count(&corev1.Node{})).To(Equal(1), "only the keeper's Node")
})

// life is one Machine's.
type life struct {
	name         string
	born, length time.Duration
	delays       map[string]string
}

// live creates the Machine with its objects and deletes it when its time has come.
func (l life) live(ctx context.Context, w *world) error {
	if err := pause(ctx, l.born); err != nil {
		return err
	}
	machine := builder.Machine(w.namespace, l.name).WithLabel(clusterv1.WatchLabel, wide).Build()
	for _, object := range []client.Object{w.object(simulator.SimConfig, l.name), w.object(simulator.SimMachine, l.name), machine} {
		if object != machine {
			object.SetAnnotations(l.delays)
		}
		if err := k8s.Create(ctx, object); err != nil {
			return err
		}
	}
	// A Machine that is deleted before it was seen has nothing that it could take with it.
	for len(machine.Finalizers) == 0 {
		if err := errors.Join(pause(ctx, suite.EventuallyPolling), k8s.Get(ctx, client.ObjectKeyFromObject(machine), machine)); err != nil {
			return err
		}
	}
	if err := pause(ctx, l.length); err != nil {
		return err
	}
	return k8s.Delete(ctx, machine)
}

// pause lets time pass in which the world goes on.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

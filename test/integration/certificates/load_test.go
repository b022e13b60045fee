// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// loadPace is the time between two requests of one client.
const loadPace = 10 * time.Millisecond

// load is clients that go on for ever: each request is one that the API server must call us for.
type load struct {
	admitted, converted atomic.Int64

	mu       sync.Mutex
	failures []string
}

// startLoad starts it, once a first request of each kind has succeeded.
func (w *world) startLoad(ctx context.Context) *load {
	GinkgoHelper()
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(w.gadgets)
	gadget.SetNamespace(w.namespace)
	gadget.SetName("one")
	Eventually(func() error { return client.IgnoreAlreadyExists(k8s.Create(ctx, gadget)) }).WithContext(ctx).Should(Succeed())
	Eventually(w.admit).WithContext(ctx).Should(Succeed())
	Eventually(w.convert).WithContext(ctx).Should(Succeed())

	l := &load{}
	running, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() { l.run(running, w.admit, &l.admitted) })
		clients.Go(func() { l.run(running, w.convert, &l.converted) })
	}
	DeferCleanup(func() {
		cancel()
		clients.Wait()
	})
	return l
}

func (l *load) run(ctx context.Context, request func(context.Context) error, count *atomic.Int64) {
	ticker := time.NewTicker(loadPace)
	defer ticker.Stop()
	for {
		err := request(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.mu.Lock()
			l.failures = append(l.failures, time.Now().Format(time.StampMilli)+" "+err.Error())
			l.mu.Unlock()
		}
		count.Add(1)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// goesOn waits until many more requests of each kind have been answered, which takes longer where everything does.
func (l *load) goesOn(ctx context.Context) {
	GinkgoHelper()
	admitted, converted := l.admitted.Load(), l.converted.Load()
	Eventually(func(g Gomega) {
		g.Expect(l.admitted.Load()).To(BeNumerically(">", admitted+100))
		g.Expect(l.converted.Load()).To(BeNumerically(">", converted+100))
	}).WithContext(ctx).Should(Succeed())
}

// expectNoFailure checks that there was load, and that no request has failed.
func (l *load) expectNoFailure() {
	GinkgoHelper()
	AddReportEntry("requests that were admitted and converted", []int64{l.admitted.Load(), l.converted.Load()})
	l.mu.Lock()
	defer l.mu.Unlock()
	Expect(l.failures).To(BeEmpty())
	Expect(l.admitted.Load()).To(BeNumerically(">", 50))
	Expect(l.converted.Load()).To(BeNumerically(">", 50))
}

// admit creates nothing, but asks whether it could.
func (w *world) admit(ctx context.Context) error {
	return k8s.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "some-"}}, client.DryRunAll)
}

// convert reads an object in the version that isn't stored.
func (w *world) convert(ctx context.Context) error {
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(w.gadgets.GroupKind().WithVersion("v2"))
	return k8s.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "one"}, gadget)
}

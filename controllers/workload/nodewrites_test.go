// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/machinist-dev/machinist/controllers/watchcache"
	simulated "github.com/machinist-dev/machinist/test/simulator/workload"
)

// lateCache reads Nodes as a cache does whose events have been held back: from what it was told last. Writes go to the API
// server.
type lateCache struct {
	client.Client
	has map[string]*corev1.Node
}

func (c *lateCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	node, ok := c.has[key.Name]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	}
	node.DeepCopyInto(obj.(*corev1.Node))
	return nil
}

func (c *lateCache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var applied client.ListOptions
	applied.ApplyOptions(options)
	for _, node := range c.has {
		if applied.FieldSelector.Matches(fieldsOf(node)) {
			list.(*corev1.NodeList).Items = append(list.(*corev1.NodeList).Items, *node.DeepCopy())
		}
	}
	return nil
}

type fieldSet map[string]string

func (f fieldSet) Has(field string) bool   { _, ok := f[field]; return ok }
func (f fieldSet) Get(field string) string { return f[field] }

func fieldsOf(node *corev1.Node) fieldSet { return fieldSet{providerIDIndex: node.Spec.ProviderID} }

// lab is a workload cluster with one Node, n, and a connection to it whose cache knows that Node.
type lab struct {
	cluster *simulated.Cluster
	cache   *lateCache
	writes  nodeWrites
	woken   int
}

const id = "sim:///n"

func newLab() *lab {
	GinkgoHelper()
	server, err := simulated.Start(simulated.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Close)
	l := &lab{}
	l.cluster, err = server.AddCluster(types.NamespacedName{Namespace: "ns", Name: "c"})
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := l.cluster.Kubeconfig()
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	mapper, err := knownKinds(nil, nil)
	Expect(err).NotTo(HaveOccurred())
	live, err := client.New(config, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	Expect(err).NotTo(HaveOccurred())
	l.cache = &lateCache{Client: live, has: map[string]*corev1.Node{}}
	Expect(l.cluster.Create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "1"}},
		Spec:       corev1.NodeSpec{ProviderID: id, Taints: []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{SizeBytes: 1}}},
	})).To(Succeed())
	l.deliver()
	return l
}

// stored is the Node as the API server has it, trimmed as in a cache.
func (l *lab) stored() *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(l.cluster.Get(types.NamespacedName{Name: "n"}, node)).To(Succeed())
	watchcache.TrimNode(node)
	return node
}

// deliver lets the cache know of the Node as it is, and returns what the handler of the event is told.
func (l *lab) deliver() (own, awaited bool) {
	GinkgoHelper()
	before, now := l.cache.has["n"], l.stored()
	l.cache.has["n"] = now
	if before == nil {
		return false, false
	}
	return l.writes.observed(before, now)
}

func (l *lab) connection() *Connection {
	return &Connection{client: l.cache, writes: &l.writes, wake: func(context.Context, *corev1.Node) { l.woken++ }}
}

// read is what a reconcile sees.
func (l *lab) read(ctx context.Context) *corev1.Node {
	GinkgoHelper()
	node, err := l.connection().NodeByProviderID(ctx, id)
	Expect(err).NotTo(HaveOccurred())
	return node
}

func (l *lab) patch(ctx context.Context, change func(*corev1.Node)) (*corev1.Node, error) {
	GinkgoHelper()
	node := l.read(ctx)
	target := node.DeepCopy()
	change(target)
	return l.connection().PatchNode(ctx, node, target)
}

func (l *lab) somebody(change func(*corev1.Node)) {
	GinkgoHelper()
	Expect(simulated.Update(l.cluster, types.NamespacedName{Name: "n"}, change)).To(Succeed())
}

func (l *lab) patches() int {
	count := 0
	for request, n := range l.cluster.Requests() {
		if request.Verb == "patch" {
			count += n
		}
	}
	return count
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func addTaint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

var _ = Describe("A patch of a Node", func() {
	It("is known before the cache shows it, and its event is told apart", func(ctx SpecContext) {
		l := newLab()
		patched, err := l.patch(ctx, func(n *corev1.Node) { label("b", "2")(n); addTaint("ours")(n) })
		Expect(err).NotTo(HaveOccurred())
		Expect(patched).To(Equal(l.stored()), "trimmed as in the cache")
		Expect(l.read(ctx)).To(Equal(patched))

		By("the event")
		own, awaited := l.deliver()
		Expect(own).To(BeTrue())
		Expect(awaited).To(BeFalse())
		Expect(l.read(ctx)).To(Equal(patched))
		Expect(l.writes.accepted.Len()).To(BeZero(), "nothing needs to be remembered any more")

		By("somebody's event after it")
		l.somebody(label("c", "3"))
		own, awaited = l.deliver()
		Expect(own || awaited).To(BeFalse())
		Expect(l.read(ctx).Labels).To(HaveKey("c"))
		Expect(l.woken).To(BeZero())
	})

	It("without taints is made although somebody else has written, and loses nothing of it", func(ctx SpecContext) {
		l := newLab()
		l.somebody(func(n *corev1.Node) { label("a", "theirs")(n); addTaint("new")(n) })
		patched, err := l.patch(ctx, label("b", "2"))
		Expect(err).NotTo(HaveOccurred())
		Expect(patched.Labels).To(Equal(map[string]string{"a": "theirs", "b": "2"}))
		Expect(patched.Spec.Taints).To(HaveLen(2))
		own, _ := l.deliver()
		Expect(own).To(BeFalse(), "there is more in it than our patch")
	})

	It("of taints is refused when somebody else has written, and not tried again before there is news", func(ctx SpecContext) {
		l := newLab()
		l.somebody(addTaint("new"))
		for range 2 {
			_, err := l.patch(ctx, addTaint("ours"))
			Expect(err).To(MatchError(ErrBehind))
		}
		Expect(l.patches()).To(Equal(1))
		Expect(l.stored().Spec.Taints).To(HaveLen(2))
		Expect(l.woken).To(BeZero(), "the event will do it")

		own, awaited := l.deliver()
		Expect(own).To(BeFalse())
		Expect(awaited).To(BeTrue())
		_, err := l.patch(ctx, addTaint("ours"))
		Expect(err).NotTo(HaveOccurred())
		Expect(l.stored().Spec.Taints).To(HaveLen(3))
	})

	It("that is refused while the event comes in wakes the Machine, as nothing else would", func(ctx SpecContext) {
		l := newLab()
		node := l.read(ctx)
		l.somebody(addTaint("new"))
		l.deliver()
		target := node.DeepCopy()
		addTaint("ours")(target)
		_, err := l.connection().PatchNode(ctx, node, target)
		Expect(err).To(MatchError(ErrBehind))
		Expect(l.woken).To(Equal(1))
		Expect(l.writes.refused.Len()).To(BeZero())
	})

	It("that is refused after another was accepted doesn't make forget that one", func(ctx SpecContext) {
		l := newLab()
		patched, err := l.patch(ctx, label("b", "2"))
		Expect(err).NotTo(HaveOccurred())
		l.somebody(addTaint("new"))
		_, err = l.patch(ctx, addTaint("ours"))
		Expect(err).To(MatchError(ErrBehind))
		Expect(l.read(ctx)).To(Equal(patched))
		_, awaited := l.deliver()
		Expect(awaited).To(BeTrue())
		Expect(l.writes.refused.Len()).To(BeZero())
		Expect(l.writes.accepted.Len()).To(BeZero())
	})

	It("never hits a Node that was created again under the name", func(ctx SpecContext) {
		l := newLab()
		Expect(l.cluster.Delete(types.NamespacedName{Name: "n"}, &corev1.Node{})).To(Succeed())
		_, err := l.patch(ctx, label("b", "2"))
		Expect(err).To(MatchError(ErrBehind), "there is none")
		l.writes.forget(l.read(ctx).UID) // as its event does
		Expect(l.cluster.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: id}})).To(Succeed())
		_, err = l.patch(ctx, label("b", "2"))
		Expect(err).To(MatchError(ErrBehind), "there is another one")
		Expect(l.stored().Labels).To(BeEmpty())
	})

	It("is not preferred to what the cache has", func(ctx SpecContext) {
		l := newLab()
		node := l.read(ctx)
		target := node.DeepCopy()
		label("b", "2")(target)
		// Somebody makes the same change, and the cache hears of it first.
		l.somebody(label("b", "2"))
		l.deliver()
		_, err := l.connection().PatchNode(ctx, node, target)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.read(ctx)).To(Equal(l.stored()))
		l.somebody(label("c", "3"))
		l.deliver()
		Expect(l.read(ctx).Labels).To(HaveKey("c"))
		Expect(l.writes.accepted.Len()).To(BeZero())
	})
})

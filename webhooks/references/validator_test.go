// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package references

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	admissionmetrics "sigs.k8s.io/controller-runtime/pkg/webhook/admission/metrics"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/webhooks/meter"
)

var _ = Describe("The validator", func() {
	It("reports everything that it denies at once, and warns about the rest", func(ctx SpecContext) {
		w := newWorld()
		w.cluster = nil
		problem("SimMachine", external.CRDMissing)(w)
		problem("SimConfig", external.ContractUnknown)(w)
		response := w.try(Enforce).Handle(ctx, create(machine()))
		Expect(response.Allowed).To(BeFalse())
		Expect(response.Result.Code).To(BeEquivalentTo(http.StatusUnprocessableEntity))
		Expect(response.Result.Message).To(HavePrefix(`Machine.cluster.x-k8s.io "m" is invalid: [spec.infrastructureRef.kind: Invalid value: "SimMachine": its kind`))
		Expect(response.Result.Details.Causes).To(HaveExactElements(
			HaveField("Field", "spec.infrastructureRef.kind"), HaveField("Field", "spec.bootstrap.configRef.kind")))
		Expect(response.Warnings).To(ConsistOf("spec.clusterName: there is no such Cluster yet: the Machine waits for it (R15)"))
	})

	It("looks each fact up once", func(ctx SpecContext) {
		w := newWorld()
		Expect(w.try(Warn).Handle(ctx, create(machine()))).To(allowSilently)
		const kinds, objects, clusters, sharers, permissions = 2, 2, 1, 2, 2
		Expect(w.lookedUp).To(Equal(kinds + objects + clusters + sharers + permissions))

		By("finding that both objects are those of another Machine, and of another Cluster")
		w = newWorld()
		ofRed := func(o *metav1.PartialObjectMetadata) { o.Labels[clusterv1.ClusterNameLabel] = "red" }
		ofFirst := controlledBy(machineAPI, "Machine", "first")
		worlds(object("simmachines", ofRed, ofFirst), object("simconfigs", ofRed, ofFirst), exists("first"),
			others(other("first", infraOf("m"), configOf("m"))))(w)
		Expect(w.try(Warn).Handle(ctx, create(machine())).Warnings).To(ConsistOf(
			HaveSuffix("(R6)"), HaveSuffix("(R6)"), HaveSuffix("(R7)"), HaveSuffix("(R7)"), HaveSuffix("(R8)"), HaveSuffix("(R8b)")))
		const owners, readable = 1, 3 // the requester may read both objects, and the Machine, or not
		Expect(w.lookedUp).To(Equal(kinds + objects + clusters + sharers + permissions + owners + readable))
	})

	It("looks nothing up for a change that touches no reference", func(ctx SpecContext) {
		w := newWorld()
		now := machine()
		now.Spec.Version = "v1.37.2"
		Expect(w.try(Warn).Handle(ctx, update(machine(), now))).To(allowSilently)
		Expect(w.lookedUp).To(BeZero())
	})

	DescribeTable("lets pass", func(ctx SpecContext, change func(*admission.Request), namespace string) {
		w := newWorld()
		problem("SimMachine", external.CRDMissing)(w)
		t := w.try(Enforce)
		t.namespace = namespace
		request := create(machine())
		change(&request)
		Expect(t.Handle(ctx, request)).To(allowSilently)
		Expect(w.lookedUp).To(BeZero())
	},
		Entry("a subresource", func(r *admission.Request) { r.SubResource = "status" }, ""),
		Entry("a deletion", func(r *admission.Request) { r.Operation = admissionv1.Delete }, ""),
		Entry("a Machine in a namespace of others", func(*admission.Request) {}, "other"),
	)

	DescribeTable("lets pass what it can't read, and counts that", func(ctx SpecContext, change func(*admission.Request)) {
		w := newWorld()
		t := w.try(Enforce)
		request := create(machine())
		change(&request)
		Expect(t.Handle(ctx, request)).To(allowSilently)
		Expect(w.lookedUp).To(BeZero())
		Expect(t.counts("request")).To(Equal(map[string]float64{"error": 1}))
	},
		Entry("a Machine", func(r *admission.Request) { r.Object.Raw = []byte(`{"spec":[]}`) }),
		Entry("what it was before an update", func(r *admission.Request) { r.Operation, r.OldObject.Raw = admissionv1.Update, []byte(`[]`) }),
	)

	It("allows when it panics, and counts that", func(ctx SpecContext) {
		panics := func() float64 {
			registry := prometheus.NewPedanticRegistry()
			Expect(registry.Register(admissionmetrics.WebhookPanics)).To(Succeed())
			families, err := registry.Gather()
			Expect(err).NotTo(HaveOccurred())
			return families[0].GetMetric()[0].GetCounter().GetValue()
		}
		before := panics()
		t := newWorld().try(Enforce)
		t.lookups.definition = func(context.Context, external.Kind) (*external.Definition, error) { panic("at the disco") }
		Expect(t.Handle(ctx, create(machine()))).To(allowSilently)
		Expect(panics()).To(Equal(before + 1))
	})

	It("has an answer in time, however long a lookup would take", func(ctx SpecContext) {
		t := newWorld().try(Enforce)
		t.lookups.definition = func(ctx context.Context, _ external.Kind) (*external.Definition, error) {
			deadline, limited := ctx.Deadline()
			Expect(limited).To(BeTrue())
			Expect(time.Until(deadline)).To(BeNumerically("<=", totalTimeout))
			return nil, context.DeadlineExceeded
		}
		Expect(t.Handle(ctx, create(machine()))).To(allowSilently)
	})

	It("has no more series than rules, outcomes and operations, whatever it is asked", func(ctx SpecContext) {
		t := newWorld().try(Warn)
		for i := range 3 {
			request := create(machine())
			request.Operation = admissionv1.Operation(fmt.Sprint("MAKE UP", i))
			Expect(t.Handle(ctx, request)).To(allowSilently)
			Expect(t.Handle(ctx, create(machine()))).To(allowSilently)
		}
		families, err := t.registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			if family.GetName() == "machinist_reference_validation_duration_seconds" {
				Expect(family.GetMetric()).To(HaveLen(2), "create and other")
			}
		}
	})
})

var _ = Describe("Warnings", func() {
	It("are cut between path and rule", func() {
		v := &verdict{}
		v.warn(field.NewPath("spec", "infrastructureRef", "name"), strings.Repeat("ü", 300), "R8b")
		Expect(v.warnings).To(HaveExactElements(SatisfyAll(
			HavePrefix("spec.infrastructureRef.name: üü"), HaveSuffix("ü… (R8b)"), WithTransform(utf8.RuneCountInString, Equal(maxWarning)))))
	})

	It("are said once, and no more than the API server passes on", func() {
		v := &verdict{}
		for i := range 100 {
			for range 2 {
				v.warn(field.NewPath("spec"), fmt.Sprintf("%3d", i)+strings.Repeat("x", 200), "R1")
			}
		}
		Expect(v.warnings).To(HaveLen(maxWarnings / maxWarning))
	})
})

var _ = DescribeTable("The cause of a failed lookup is told without what it is about",
	func(err error, text string) { Expect(causeOf(fmt.Errorf("secret: %w", err))).To(Equal(text)) },
	Entry("a timeout of ours", context.DeadlineExceeded, "no answer in time"),
	Entry("a turn that would come too late", outOfTurn(), "no answer in time"),
	Entry("a cache that isn't filled", apierrors.NewTimeoutError("failed waiting for Informer to sync", 0), "no answer in time"),
	Entry("a cache that isn't started", &cache.ErrCacheNotStarted{}, "the manager has just started"),
	Entry("no permission", apierrors.NewForbidden(schema.GroupResource{}, "n", nil), "the manager may not read it"),
	Entry("an API server in trouble", apierrors.NewInternalError(errors.New("secret")), "the API server can't answer"),
	Entry("anything else", errors.New("secret"), "the lookup failed; see the manager's log"),
)

// outOfTurn is what client-go's rate limiter says if there is no time to wait until it lets the request through.
func outOfTurn() error {
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.001, 1)
	limiter.Accept()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return limiter.Wait(ctx)
}

var _ = Describe("The namespace of a reference in API version v1beta1", func() {
	older := func(metadata, infra, config string) admission.Request {
		return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Create, Namespace: "ns", UserInfo: authenticationv1.UserInfo{Username: "user"},
			Object: runtime.RawExtension{Raw: []byte(`{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine","metadata":{"name":"m"` + metadata + `},"spec":{"clusterName":"c",` +
				`"infrastructureRef":{"apiVersion":"a/v1","kind":"K","name":"n"` + infra + `},"bootstrap":{"configRef":{"kind":"K","name":"n"` + config + `}}}}`)},
		}}
	}
	handler := func(mode Mode) *validator { return newWorld().try(mode).with(olderRules, decodeOlder) }

	It("is warned about if it is another (R11)", func(ctx SpecContext) {
		for _, mode := range []Mode{Warn, Enforce} {
			response := handler(mode).Handle(ctx, older("", `,"namespace":"other"`, `,"namespace":"third"`))
			Expect(response.Allowed).To(BeTrue())
			Expect(response.Warnings).To(HaveExactElements(
				"spec.infrastructureRef.namespace: is ignored: the object is looked for in the namespace of the Machine (R11)",
				"spec.bootstrap.configRef.namespace: is ignored: the object is looked for in the namespace of the Machine (R11)"))
		}
	})

	It("is fine otherwise", func(ctx SpecContext) {
		other := `,"namespace":"other"`
		for _, request := range []admission.Request{
			older("", `,"namespace":"ns"`, ""),
			older(`,"deletionTimestamp":"2026-01-01T00:00:00Z"`, other, ""),
			older(`,"annotations":{"`+clusterv1.SkipReferenceValidationAnnotation+`":"R11"}`, other, ""),
		} {
			Expect(handler(Warn).Handle(ctx, request)).To(allowSilently)
		}
		Expect(handler(Off).Handle(ctx, older("", other, ""))).To(allowSilently)

		By("being what it was")
		request := older("", other, "")
		request.Operation, request.OldObject = admissionv1.Update, request.Object
		Expect(handler(Warn).Handle(ctx, request)).To(allowSilently)
	})
})

var _ = Describe("Mode", func() {
	It("is a flag", func() {
		var mode Mode
		for _, value := range []string{"off", "warn", "enforce"} {
			Expect(mode.Set(value)).To(Succeed())
			Expect(mode.String()).To(Equal(value))
		}
		Expect(mode.Set("panic")).To(MatchError(`expected off, warn or enforce, found "panic"`))
		Expect(mode).To(Equal(Enforce))
	})
})

var _ = DescribeTable("What is needed is asked for", func(change func(*Options), text string) {
	o := Options{Mode: Warn, Machines: machinesOf{newWorld()}, Meter: meter.New()}
	change(&o)
	Expect(SetupWithManager(nil, o)).To(MatchError(ContainSubstring(text)))
},
	Entry("a mode, as none is not off", func(o *Options) { o.Mode = "" }, `expected off, warn or enforce, found ""`),
	Entry("a mode that there is", func(o *Options) { o.Mode = "panic" }, `expected off, warn or enforce, found "panic"`),
	Entry("something that finds Machines", func(o *Options) { o.Machines = nil }, "set Options.Machines"),
	Entry("something that counts", func(o *Options) { o.Meter = nil }, "set Options.Meter"),
)

var _ = It("Rules have IDs of their own", func() {
	ids := map[string]bool{}
	for _, r := range append(append([]rule{}, rules...), olderRules...) {
		Expect(ids).NotTo(HaveKey(r.id))
		ids[r.id] = true
	}
})

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/webhooks/certificates"
	"github.com/machinist-dev/machinist/webhooks/server"
)

// calm is a timing in which nothing but the first certificates happens.
var calm = certificates.Timing{Interval: 200 * time.Millisecond, Propagation: time.Second}

// world is a namespace with a Service, and with what the API server calls it for: the admission of ConfigMaps in the namespace,
// and the conversion of a kind of its own.
type world struct {
	namespace string
	balancer  *balancer
	gadgets   schema.GroupVersionKind
	config    *rest.Config
	timing    certificates.Timing
	steps     *steps
}

const serviceName, secretName = "hooks", "hooks-cert"

func newWorld(ctx context.Context, timing certificates.Timing) *world {
	GinkgoHelper()
	namespace := suite.Namespace(ctx, env)
	w := &world{
		namespace: namespace, balancer: newBalancer(ctx), config: env.ConfigFor("keeper-" + namespace), timing: timing, steps: &steps{},
		gadgets: schema.GroupVersionKind{Group: namespace + ".example.com", Version: "v1", Kind: "Gadget"},
	}
	Expect(k8s.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceName},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})).To(Succeed())
	w.installAdmission(ctx)
	w.installConversion()
	return w
}

// installAdmission has the ConfigMaps of the namespace admitted by us.
func (w *world) installAdmission(ctx context.Context) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "configmaps.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
				Namespace: w.namespace, Name: serviceName, Path: new("/admit"), Port: new(int32(w.balancer.port)),
			}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})).To(Succeed())
}

func (w *world) installConversion() {
	GinkgoHelper()
	version := func(name string) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: name == w.gadgets.Version,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		}
	}
	suite.InstallCRDs(env, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: w.crd()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: w.gadgets.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: w.gadgets.Kind, Plural: "gadgets", Singular: "gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1"), version("v2")},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
						Namespace: w.namespace, Name: serviceName, Path: new("/convert"), Port: new(int32(w.balancer.port)),
					}},
				},
			},
		},
	})
}

func (w *world) crd() string { return "gadgets." + w.gadgets.Group }

// steps are the changes that Keepers have logged.
type steps struct {
	mu    sync.Mutex
	lines []string
}

// changesOf finds them in a line of the log.
var changesOf = regexp.MustCompile(`"changes"=\[([^]]*)\]`)

func (s *steps) heed(prefix, line string) {
	fmt.Fprintln(GinkgoWriter, prefix, line)
	if found := changesOf.FindStringSubmatch(line); found != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, strings.ReplaceAll(found[1], `"`, ""))
	}
}

// taken are the changes of each step, in the order of the log.
func (s *steps) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// replica is a webhook server.
type replica struct {
	*server.Server

	address string
	tell    context.CancelFunc
	ended   chan struct{}
}

// options are those of a Keeper of the world. One of its targets does not exist.
func (w *world) options() certificates.Options {
	return certificates.Options{
		Config:  w.config,
		Service: types.NamespacedName{Namespace: w.namespace, Name: serviceName},
		Secret:  types.NamespacedName{Namespace: w.namespace, Name: secretName},
		Targets: []certificates.Target{
			certificates.MutatingWebhookConfiguration(w.namespace),
			certificates.ValidatingWebhookConfiguration(w.namespace),
			certificates.CustomResourceDefinition(w.crd()),
		},
		Timing: w.timing,
	}
}

// start starts a replica, which nobody calls yet.
func (w *world) start(ctx context.Context) *replica {
	GinkgoHelper()
	keeper, err := certificates.New(w.options())
	Expect(err).NotTo(HaveOccurred())
	address := suite.FreeAddress(ctx)
	running, cancel := context.WithCancel(log.IntoContext(context.Background(), funcr.New(w.steps.heed, funcr.Options{})))
	r := &replica{
		Server:  server.New(server.Options{Host: address.Addr().String(), Port: int(address.Port()), Keeper: keeper, Linger: time.Second}),
		address: address.String(), tell: cancel, ended: make(chan struct{}),
	}
	r.Register("/admit", someClose(&admission.Webhook{Handler: admission.HandlerFunc(
		func(context.Context, admission.Request) admission.Response { return admission.Allowed("") },
	)}))
	r.Register("/convert", someClose(http.HandlerFunc(convert)))
	go func() {
		defer GinkgoRecover()
		defer close(r.ended)
		Expect(r.Start(running)).To(Succeed())
		r.Wait()
	}()
	DeferCleanup(r.stop)
	return r
}

// run starts a replica and has it called when it is ready.
func (w *world) run(ctx context.Context) *replica {
	GinkgoHelper()
	r := w.start(ctx)
	w.callWhenReady(ctx, r)
	return r
}

func (w *world) callWhenReady(ctx context.Context, r *replica) {
	GinkgoHelper()
	Eventually(func() error { return r.StartedChecker()(nil) }).WithContext(ctx).Should(Succeed())
	w.balancer.add(r.address)
}

// stop tells the replica to end, and waits until it has.
func (r *replica) stop() {
	GinkgoHelper()
	r.tell()
	Eventually(r.ended).Should(BeClosed())
}

// someClose ends some connections, so that there are always new ones, for which the certificate is looked at.
func someClose(next http.Handler) http.Handler {
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if rand.IntN(4) == 0 {
			response.Header().Set("Connection", "close")
		}
		next.ServeHTTP(response, request)
	})
}

// convert has nothing to do but to change the version.
func convert(response http.ResponseWriter, request *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(request.Body).Decode(review); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, raw := range review.Request.Objects {
		object := map[string]any{}
		err := json.Unmarshal(raw.Raw, &object)
		object["apiVersion"] = review.Request.DesiredAPIVersion
		converted, encodeErr := json.Marshal(object)
		if err != nil || encodeErr != nil {
			http.Error(response, fmt.Sprint(err, encodeErr), http.StatusBadRequest)
			return
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Raw: converted})
	}
	review.Request = nil
	_ = json.NewEncoder(response).Encode(review) // the API server says what is missing
}

func (w *world) secret(ctx context.Context, g Gomega) *corev1.Secret {
	secret := &corev1.Secret{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: secretName}, secret)).To(Succeed())
	return secret
}

// authorities are those in the Secret, newest first.
func (w *world) authorities(ctx context.Context, g Gomega) []*x509.Certificate {
	return certificatesIn(g, w.secret(ctx, g).Data["ca.crt"])
}

func (w *world) serving(ctx context.Context, g Gomega) *x509.Certificate {
	found := certificatesIn(g, w.secret(ctx, g).Data[corev1.TLSCertKey])
	g.Expect(found).To(HaveLen(1))
	return found[0]
}

func certificatesIn(g Gomega, content []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		g.Expect(err).NotTo(HaveOccurred())
		found = append(found, certificate)
	}
	return found
}

// bundles are what the API server was told to trust, for admission and for conversion.
func (w *world) bundles(ctx context.Context, g Gomega) [][]byte {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Name: w.namespace}, configuration)).To(Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(k8s.Get(ctx, types.NamespacedName{Name: w.crd()}, crd)).To(Succeed())
	return [][]byte{configuration.Webhooks[0].ClientConfig.CABundle, crd.Spec.Conversion.Webhook.ClientConfig.CABundle}
}

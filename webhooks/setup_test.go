// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package webhooks_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/webhooks"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
)

const (
	validation = "/validate-cluster-x-k8s-io-v1beta2-machine"
	// own are the rules that Cluster API does not have, as texts end with them.
	own = `\((R\w+)\)$`
)

// newWebhooks are those of a manager that has not started, and whose API server can't be reached.
func newWebhooks(g Gomega, mode references.Mode) (http.Handler, error) {
	server := webhook.NewServer(webhook.Options{})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: controllers.NewScheme(), WebhookServer: server, Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	})
	g.Expect(err).NotTo(HaveOccurred())
	err = webhooks.Setup(mgr, webhooks.Options{References: references.Options{
		Mode: mode, Machines: machine.Finder{Reader: mgr.GetCache()}, Meter: meter.New(),
	}})
	return server.WebhookMux(), err
}

// create asks whether the Machine may be created.
func create(t *testing.T, handler http.Handler, path string, m *clusterv1.Machine) *admissionv1.AdmissionResponse {
	t.Helper()
	g := NewWithT(t)
	object, err := json.Marshal(m)
	g.Expect(err).NotTo(HaveOccurred())
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID("u"), Operation: admissionv1.Create, Namespace: m.Namespace, Name: m.Name, Object: runtime.RawExtension{Raw: object},
		},
	}
	body, err := json.Marshal(review)
	g.Expect(err).NotTo(HaveOccurred())
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	var answer admissionv1.AdmissionReview
	g.Expect(json.Unmarshal(recorder.Body.Bytes(), &answer)).To(Succeed(), "%s", recorder.Body)
	return answer.Response
}

// rulesOf are the rules of our own that the texts end with; a text of another one is there as a whole.
func rulesOf(texts ...string) []string {
	rules := make([]string, 0, len(texts))
	for _, text := range texts {
		if match := regexp.MustCompile(own).FindStringSubmatch(text); match != nil {
			text = match[1]
		}
		rules = append(rules, text)
	}
	return rules
}

func TestModesTurnOurOwnRulesOnAndOffAndNoOthers(t *testing.T) {
	const noBootstrap = "Required value: expected either spec.bootstrap.dataSecretName or spec.bootstrap.configRef to be populated"
	broken := builder.Machine("default", "m").With(func(m *clusterv1.Machine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{}
		m.Spec.InfrastructureRef.Kind, m.Spec.InfrastructureRef.APIGroup = "AnyTemplate", clusterv1.GroupVersion.Group
		m.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "Ready"}, {ConditionType: "Deleting"}}
	}).Build()
	for mode, want := range map[references.Mode]struct {
		denied, warned []string
		references     gomegatypes.GomegaMatcher
	}{
		references.Off:     {[]string{noBootstrap}, nil, BeEmpty()},
		references.Warn:    {[]string{noBootstrap, "R3", "R12", "R18"}, []string{"R18a"}, ContainElement(ContainSubstring("could not be checked"))},
		references.Enforce: {[]string{noBootstrap, "R3", "R12", "R18"}, []string{"R18a"}, BeEmpty()}, // what can't be checked passes silently
	} {
		t.Run(string(mode), func(t *testing.T) {
			g := NewWithT(t)
			handler, err := newWebhooks(g, mode)
			g.Expect(err).NotTo(HaveOccurred())
			answer := create(t, handler, validation, broken)
			g.Expect(answer.Allowed).To(BeFalse())
			var texts []string
			for _, cause := range answer.Result.Details.Causes {
				texts = append(texts, cause.Message)
			}
			g.Expect(rulesOf(texts...)).To(ConsistOf(want.denied))
			g.Expect(rulesOf(answer.Warnings...)).To(ConsistOf(want.warned))

			answer = create(t, handler, references.Path, broken)
			g.Expect(answer.Allowed).To(BeTrue())
			g.Expect(answer.Warnings).To(want.references)
		})
	}
}

func TestNoModeIsNotOff(t *testing.T) {
	g := NewWithT(t)
	_, err := newWebhooks(g, "")
	g.Expect(err).To(MatchError(ContainSubstring(`expected off, warn or enforce, found ""`)))
}

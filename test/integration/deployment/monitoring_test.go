// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
	"github.com/machinist-dev/machinist/webhooks/certificates"
	"github.com/machinist-dev/machinist/webhooks/meter"
	"github.com/machinist-dev/machinist/webhooks/references"
)

// ofTarget are labels that Prometheus adds.
const ofTarget = ofUs + `,pod="machinist-0",machinist_dev_shard="shard-0"`

// rare are labels with values that show only when something is wrong.
var rare = map[string]bool{"code": true, "state": true, "outcome": true}

// alternatives is a value that lists some.
var alternatives = regexp.MustCompile(`^\w+(\|\w+)+$`)

var _ = It("What alerts and the dashboard ask for is in the metrics of a manager at work", func(ctx SpecContext) {
	objects := render(ctx, "prometheus")
	Expect(objects.of("Service").names()).To(ConsistOf(job), "Prometheus Operator names the job after it")
	alerts, panels := expressionsOf(objects)
	Expect(len(alerts)).To(BeNumerically(">", 10))
	Expect(len(panels)).To(BeNumerically(">", 25))
	scrapes := queries{Series: scrape(ctx), Interval: 60, Seconds: 60, Expressions: map[string]string{}}
	maps.Copy(scrapes.Expressions, panels)
	for name, alert := range alerts {
		scrapes.Expressions["alert "+name] = alert.Expr
	}
	results := evaluate(ctx, scrapes)[0]

	for panel := range panels {
		Expect(results[panel].Series).NotTo(BeEmpty(), "%s: %s", panel, panels[panel])
		for _, series := range results[panel].Series {
			Expect(series.Points).To(ContainElement(HaveField("Second", 60)), "%s: %v", panel, series.Labels)
		}
	}

	By("finding what each part of an expression reads, and each label that it groups by")
	scrapes.Expressions = partsOf(results)
	for part, r := range evaluate(ctx, scrapes)[0] {
		Expect(r.Series).NotTo(BeEmpty(), "%s: %s", part, scrapes.Expressions[part])
	}
})

// partsOf are expressions for what those read that the results are of.
func partsOf(results map[string]result) map[string]string {
	parts := map[string]string{}
	for name, r := range results {
		for _, s := range r.Selectors {
			relaxed := s.without(rare)
			parts[fmt.Sprintf("%s reads %s", name, s)] = relaxed.String()
			for i, m := range relaxed {
				if m.Operator != "=~" || !alternatives.MatchString(m.Value) {
					continue
				}
				for value := range strings.SplitSeq(m.Value, "|") {
					one := slices.Clone(relaxed)
					one[i].Operator, one[i].Value = "=", value
					parts[fmt.Sprintf("%s reads %s", name, one)] = one.String()
				}
			}
		}
		for _, label := range r.Grouping {
			var labelled []string
			for _, s := range r.Selectors {
				labelled = append(labelled, s.without(rare).having(label).String())
			}
			parts[fmt.Sprintf("%s groups by %s", name, label)] = strings.Join(labelled, " or ")
		}
	}
	return parts
}

// alert is a rule of Prometheus: it fires when the expression has been true for some time.
type alert struct {
	Alert, Expr string
	For         metav1.Duration
}

// expressionsOf returns the alerts, and the expressions of panels by where they are, as Prometheus gets them.
func expressionsOf(m manifests) (alerts map[string]alert, panels map[string]string) {
	GinkgoHelper()
	alerts, panels = map[string]alert{}, map[string]string{}
	var rules struct {
		Spec struct {
			Groups []struct{ Rules []alert }
		}
	}
	decode := func(from any, into any) {
		GinkgoHelper()
		data, err := json.Marshal(from)
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Unmarshal(data, into)).To(Succeed())
	}
	decode(m.named("machinist-alerts").Object, &rules)
	for _, group := range rules.Spec.Groups {
		for _, rule := range group.Rules {
			alerts[rule.Alert] = rule
		}
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ RefID, Expr string }
		}
	}
	files, ok := m.named("machinist-dashboard").Object["data"].(map[string]any)
	Expect(ok).To(BeTrue())
	Expect(json.Unmarshal([]byte(files["machinist.json"].(string)), &dashboard)).To(Succeed())
	for _, panel := range dashboard.Panels {
		if panel.Type == "row" {
			continue
		}
		Expect(panel.Targets).NotTo(BeEmpty(), panel.Title)
		for _, target := range panel.Targets {
			panels["panel "+panel.Title+" "+target.RefID] = strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
		}
	}
	return alerts, panels
}

// scrape runs a manager with some Machines, and returns the series that it serves, with their values at two times.
func scrape(ctx context.Context) []string {
	GinkgoHelper()
	c := newCluster(ctx)
	c.apply(ctx, render(ctx, "default").of("CustomResourceDefinition"))
	suite.InstallCRDs(c.Environment, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
	providers, err := simulator.Start(ctx, c.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(providers.Stop)
	forgetMetrics()
	DeferCleanup(debug.SetMemoryLimit, debug.SetMemoryLimit(1<<40)) // one that is never reached, as pods have one
	hooks := suite.FreeAddress(ctx)
	options := manager.Options("--leader-elect", "--leader-elect-resource-namespace="+namespace, "--insecure-diagnostics",
		"--webhook-host="+hooks.Addr().String(), fmt.Sprintf("--webhook-port=%d", hooks.Port()), "--webhook-cert-rotation", "--webhook-service="+namespace+"/machinist-webhook-service")
	options.DiagnosticsAddress = suite.FreeAddress(ctx).String()
	manager.Run(c.Config, options)

	where := suite.Namespace(ctx, c.Environment)
	blue := builder.Cluster(where, "blue").Build()
	lonely := builder.Machine(where, "waits").Build()
	Expect(c.k8s.Create(ctx, blue)).To(Succeed())
	Expect(c.k8s.Create(ctx, lonely)).To(Succeed())
	series := map[string][]string{}
	for round := range 2 {
		prefix := fmt.Sprintf("blue-%d", round)
		Expect(simulator.Create(ctx, c.k8s, 4, simulator.Machines(blue, 0, 2, simulator.Shape{PayloadSize: -1, Prefix: prefix})...)).To(Succeed())
		askWebhooks(ctx, hooks.String(), lonely)
		Eventually(func(g Gomega) {
			running := &clusterv1.Machine{}
			g.Expect(c.k8s.Get(ctx, client.ObjectKey{Namespace: where, Name: prefix + "-worker-1"}, running)).To(Succeed())
			g.Expect(running.Status.Phase).To(Equal("Running"))
		}).WithContext(ctx).Should(Succeed())
		for name, value := range get(ctx, "http://"+options.DiagnosticsAddress+"/metrics") {
			values := series[name]
			for len(values) < round {
				values = append(values, "_")
			}
			series[name] = append(values, value)
		}
	}
	texts := make([]string, 0, len(series))
	for name, values := range series {
		texts = append(texts, name+" "+strings.Join(values, " "))
	}
	return texts
}

// sample is a line of metrics: name, labels and value.
var sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? ([^ ]+)\n?$`)

// get returns the series that are served there, with their values. They have the labels of the target.
func get(ctx context.Context, url string) map[string]string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	series := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if parts := sample.FindStringSubmatch(line); parts != nil { // a comment otherwise
			series[parts[1]+"{"+strings.TrimPrefix(parts[2]+","+ofTarget, ",")+"}"] = parts[3]
		}
	}
	return series
}

// askWebhooks sends the Machine to the webhook server as if it were being created.
func askWebhooks(ctx context.Context, address string, m *clusterv1.Machine) {
	GinkgoHelper()
	object, err := json.Marshal(m)
	Expect(err).NotTo(HaveOccurred())
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Operation: admissionv1.Create, Namespace: m.Namespace, Name: m.Name, Object: runtime.RawExtension{Raw: object},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for _, path := range []string{"/mutate-cluster-x-k8s-io-v1beta2-machine", "/validate-cluster-x-k8s-io-v1beta2-machine", references.Path} {
		Eventually(func(g Gomega) {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(review))
			g.Expect(err).NotTo(HaveOccurred())
			request.Header.Set("Content-Type", "application/json")
			response, err := caller.Do(request)
			g.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close() //nolint:errcheck // only read
			var answered admissionv1.AdmissionReview
			g.Expect(json.NewDecoder(response.Body).Decode(&answered)).To(Succeed())
			g.Expect(answered.Response.Allowed).To(BeTrue())
		}).WithContext(ctx).Should(Succeed(), path)
	}
}

// forgetMetrics removes the collectors of the managers of earlier specs from the registry, so that those of the next are
// served. A collector is known there by what it describes.
func forgetMetrics() {
	GinkgoHelper()
	tracker, err := external.NewTracker(external.Options{Config: &rest.Config{}})
	Expect(err).NotTo(HaveOccurred())
	metrics.Registry.Unregister(tracker)
	metrics.Registry.Unregister(&machine.Metrics{})
	metrics.Registry.Unregister(meter.New())
	metrics.Registry.Unregister(&certificates.Keeper{})
}

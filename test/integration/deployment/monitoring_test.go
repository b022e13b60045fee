// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/controllers/external"
	"github.com/machinist-dev/machinist/controllers/machine"
	"github.com/machinist-dev/machinist/test/builder"
	"github.com/machinist-dev/machinist/test/environment/suite"
	"github.com/machinist-dev/machinist/test/manager"
	"github.com/machinist-dev/machinist/test/simulator"
)

// ofWebhooks are metrics with their labels that a manager without webhooks, as here, does not have.
var ofWebhooks = map[string][]map[string]string{
	"machinist_webhook_certificate_expiry_timestamp_seconds": {{"certificate": "serving"}},
	"machinist_reference_validation_rules_total":             {{"rule": "R1", "outcome": "error", "operation": "create"}},
}

// ofTarget are labels that Prometheus adds.
var ofTarget = []string{"job", "pod", "machinist_dev_shard"}

// rare are labels whose values show only when something is wrong.
var rare = []string{"code", "state"}

var _ = It("What alerts and the dashboard ask for is in the metrics of a manager at work", func(ctx SpecContext) {
	queries := queriesOf(render(ctx, "prometheus"))
	Expect(len(queries)).To(BeNumerically(">", 40))
	series := scrape(ctx)
	maps.Copy(series, ofWebhooks)
	for where, query := range queries {
		selectors, grouping := read(query)
		Expect(selectors).NotTo(BeEmpty(), where)
		known := slices.Clone(ofTarget)
		for _, s := range selectors {
			found := series[s.metric]
			Expect(found).NotTo(BeEmpty(), "%s asks for %s, which there isn't", where, s.metric)
			for _, alternative := range s.alternatives() {
				Expect(slices.ContainsFunc(found, alternative.matches)).To(BeTrue(), "%s: no %s has %v, but %v", where, s.metric, alternative.matchers, found[0])
			}
			known = slices.AppendSeq(known, maps.Keys(found[0]))
		}
		for _, label := range grouping {
			Expect(known).To(ContainElement(label), where)
		}
	}
})

// queriesOf returns the expressions of alerts and panels by where they are, as Prometheus gets them.
func queriesOf(m manifests) map[string]string {
	GinkgoHelper()
	queries := map[string]string{}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
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
			queries["alert "+rule.Alert] = rule.Expr
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
			queries["panel "+panel.Title+" "+target.RefID] = strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
		}
	}
	return queries
}

// scrape runs a manager with some Machines, and returns the labels of each series that it serves, by metric.
func scrape(ctx context.Context) map[string][]map[string]string {
	GinkgoHelper()
	c := newCluster(ctx)
	c.apply(ctx, render(ctx, "default").of("CustomResourceDefinition"))
	suite.InstallCRDs(c.Environment, simulator.InfraMachineCRD(simulator.CRDOptions{}), simulator.BootstrapConfigCRD(simulator.CRDOptions{}))
	providers, err := simulator.Start(ctx, c.Config, simulator.Options{ControlPlaneInitialized: true, PayloadSize: -1, Quiet: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(providers.Stop)
	forgetMetrics()
	options := manager.Options("--leader-elect", "--leader-elect-resource-namespace="+namespace, "--insecure-diagnostics")
	options.DiagnosticsAddress = freeAddress(ctx)
	manager.Run(c.Config, options)
	answerAdmission(ctx)
	where := suite.Namespace(ctx, c.Environment)
	blue := builder.Cluster(where, "blue").Build()
	lonely := builder.Machine(where, "waits").Build()
	Expect(simulator.Create(ctx, c.k8s, 4, append([]client.Object{blue, lonely}, simulator.Machines(blue, 0, 2, simulator.Shape{PayloadSize: -1})...)...)).To(Succeed())
	Eventually(func(g Gomega) {
		running := &clusterv1.Machine{}
		g.Expect(c.k8s.Get(ctx, client.ObjectKey{Namespace: where, Name: "blue-worker-1"}, running)).To(Succeed())
		g.Expect(running.Status.Phase).To(Equal("Running"))
	}).WithContext(ctx).Should(Succeed())

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+options.DiagnosticsAddress+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	series := map[string][]map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := sample.FindStringSubmatch(line)
		if parts == nil {
			continue // a comment
		}
		labels := map[string]string{}
		for _, pair := range matcher.FindAllStringSubmatch(parts[2], -1) {
			labels[pair[1]] = pair[3]
		}
		series[parts[1]] = append(series[parts[1]], labels)
	}
	return series
}

// forgetMetrics removes the collectors of the managers of earlier specs from the registry, so that those of the next are
// served. A collector is known there by what it describes.
func forgetMetrics() {
	GinkgoHelper()
	tracker, err := external.NewTracker(external.Options{Config: &rest.Config{}})
	Expect(err).NotTo(HaveOccurred())
	metrics.Registry.Unregister(tracker)
	metrics.Registry.Unregister(&machine.Metrics{})
}

// answerAdmission answers a request as the manager's webhook server does, so that its metrics have something to tell.
func answerAdmission(ctx context.Context) {
	server := webhook.NewServer(webhook.Options{})
	server.Register("/validate", http.NotFoundHandler())
	server.WebhookMux().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/validate", nil))
}

var (
	// sample is a line of metrics: name, labels and value.
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? [^ ]+\n?$`)
	// matcher is a label with an operator and a value.
	matcher = regexp.MustCompile(`([a-zA-Z_]\w*)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"`)
	// clause groups by labels.
	clause = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	// metricName is a metric with its matchers; or, if the third part isn't empty, a function.
	metricName = regexp.MustCompile(`\b([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})?(\s*\()?`)
	// listed is a value that lists some.
	listed    = regexp.MustCompile(`^\w+(\|\w+)+$`)
	duration  = regexp.MustCompile(`\[[^\]]*\]`)
	operators = []string{"and", "or", "unless", "bool", "offset", "sum", "min", "max", "avg", "count", "topk"}
)

// selector is a metric and what its labels have to be.
type selector struct {
	metric   string
	matchers [][]string // label, operator, value
}

// read finds the selectors of a query, and the labels that it groups by. It knows as much of PromQL as ours need.
func read(query string) (selectors []selector, grouping []string) {
	for _, found := range clause.FindAllStringSubmatch(query, -1) {
		for label := range strings.SplitSeq(found[1], ",") {
			grouping = append(grouping, strings.TrimSpace(label))
		}
	}
	query = duration.ReplaceAllString(clause.ReplaceAllString(query, " "), " ")
	for _, found := range metricName.FindAllStringSubmatch(query, -1) {
		if found[3] != "" || slices.Contains(operators, found[1]) {
			continue
		}
		s := selector{metric: found[1]}
		for _, m := range matcher.FindAllStringSubmatch(found[2], -1) {
			s.matchers = append(s.matchers, m[1:])
		}
		selectors = append(selectors, s)
	}
	return selectors, grouping
}

// alternatives are selectors for each of the values that a matcher lists.
func (s selector) alternatives() []selector {
	for i, m := range s.matchers {
		if m[1] != "=~" || !listed.MatchString(m[2]) {
			continue
		}
		var all []selector
		for value := range strings.SplitSeq(m[2], "|") {
			one := selector{metric: s.metric, matchers: slices.Clone(s.matchers)}
			one.matchers[i] = []string{m[0], "=", value}
			all = append(all, one.alternatives()...)
		}
		return all
	}
	return []selector{s}
}

// matches reports whether the series could be meant: it has the labels, and their values where these don't depend on what
// goes wrong.
func (s selector) matches(series map[string]string) bool {
	for _, m := range s.matchers {
		label, operator, value := m[0], m[1], m[2]
		if slices.Contains(ofTarget, label) {
			continue
		}
		have, ok := series[label]
		if !ok {
			return false
		}
		if slices.Contains(rare, label) {
			continue
		}
		equal := have == value
		if strings.HasSuffix(operator, "~") {
			equal = regexp.MustCompile("^(?:" + value + ")$").MatchString(have)
		}
		if equal == strings.HasPrefix(operator, "!") {
			return false
		}
	}
	return true
}

var _ = It("A query is read as it is meant", func() {
	selectors, grouping := read(`histogram_quantile(0.99, sum by (le, webhook) (rate(a_bucket{b="c",d=~"e|f"}[5m]))) / (a_total{} > 1e15 and g:h) - time() < 7 * 86400`)
	Expect(grouping).To(ConsistOf("le", "webhook"))
	Expect(selectors).To(Equal([]selector{
		{metric: "a_bucket", matchers: [][]string{{"b", "=", "c"}, {"d", "=~", "e|f"}}}, {metric: "a_total"}, {metric: "g:h"},
	}))
	Expect(selector{metric: "a", matchers: [][]string{{"b", "=~", "c|d"}, {"e", "=~", "f.*"}}}.alternatives()).To(Equal([]selector{
		{metric: "a", matchers: [][]string{{"b", "=", "c"}, {"e", "=~", "f.*"}}}, {metric: "a", matchers: [][]string{{"b", "=", "d"}, {"e", "=~", "f.*"}}},
	}))
	s := selector{metric: "a", matchers: [][]string{{"b", "=", "c"}, {"d", "!~", "e.*"}, {"code", "=", "500"}, {"job", "=", "x"}}}
	Expect(s.matches(map[string]string{"b": "c", "d": "f", "code": "200"})).To(BeTrue())
	Expect(s.matches(map[string]string{"b": "c", "d": "ef", "code": "200"})).To(BeFalse())
	Expect(s.matches(map[string]string{"b": "d", "d": "f", "code": "200"})).To(BeFalse())
	Expect(s.matches(map[string]string{"b": "c", "d": "f"})).To(BeFalse(), "no code")
})

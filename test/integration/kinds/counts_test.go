// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/machinist-dev/machinist/controllers"
	"github.com/machinist-dev/machinist/test/environment"
)

// openWatches returns the number of watches that the API server has open for a kind, by API version.
func openWatches(ctx context.Context, of kind) func(g Gomega) map[string]int {
	clientset, err := kubernetes.NewForConfig(env.Config)
	return func(g Gomega) map[string]int {
		g.Expect(err).NotTo(HaveOccurred())
		text, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		open := map[string]int{}
		lines := bufio.NewScanner(strings.NewReader(string(text)))
		lines.Buffer(nil, len(text)+1)
		for lines.Scan() {
			line := lines.Text()
			if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, fmt.Sprintf("group=%q", of.Group)) {
				continue
			}
			_, value, _ := strings.Cut(line, "} ")
			_, version, _ := strings.Cut(line, `version="`)
			version, _, _ = strings.Cut(version, `"`)
			count, err := strconv.Atoi(value)
			g.Expect(err).NotTo(HaveOccurred())
			if count > 0 {
				open[version] += count
			}
		}
		g.Expect(lines.Err()).NotTo(HaveOccurred())
		return open
	}
}

// requests returns what the managers have asked of the API server so far.
func requests(ctx context.Context) environment.Requests {
	GinkgoHelper()
	all, err := env.Requests(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all.From(controllers.UserAgent)
}

// series returns the values of a metric of the manager, by the values of its labels in the order of their names. A
// series of another kind, of a place that is no more, is not among them.
func series(name string) map[string]float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			values[strings.Join(labels, ",")] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}

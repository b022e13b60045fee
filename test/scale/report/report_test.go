// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

// example is a report of two managers, of which the peer's measurement ended early.
func example() *Report {
	return &Report{
		Settings: Settings{Machines: 10, Clusters: 2, PayloadSize: 1000, Seed: 7},
		Ours: Result{
			Manager: "Ours",
			Idle:    &Footprint{HeapBytes: 1_000_000, ResidentBytes: 5_000_000},
			Provisioning: &Provisioning{
				Activity: Activity{
					Reconciles: Reconciles{Count: 60},
					Requests: measure.Requests{
						"patch machines/status":   {All: 50, Conflicts: 1},
						"patch clusters/status":   {All: 1000},
						"get simmachines":         {All: 20},
						"list simmachines":        {All: 1},
						"watch simmachines":       {All: 1},
						"create events":           {All: 10},
						"patch simmachines":       {All: 10},
						"delete machines":         {All: 0},
						"deletecollection leases": {All: 99},
					},
					WorkloadRequests: measure.Requests{"patch nodes": {All: 5}, "get nodes": {All: 7}},
				},
				RunningSeconds: 12,
			},
			Settled: &Settled{
				Activity:  Activity{Seconds: 30, TotalSeconds: 40, CPUSeconds: 0.3, Requests: measure.Requests{"get secrets": {All: 2}, "watch nodes": {All: 4}}},
				Footprint: Footprint{HeapBytes: 1_100_000, ResidentBytes: 5_400_000},
			},
			NodeHeartbeats: &Activity{Events: 100, Seconds: 10, CPUSeconds: 0.12},
		},
		Peer: &Result{
			Manager:      "Peer",
			Failure:      "settled took longer than 10m0s",
			Provisioning: &Provisioning{RunningSeconds: 48, Activity: Activity{Requests: measure.Requests{"patch machines/status": {All: 100}}}},
		},
	}
}

func figure(g Gomega, report *Report, name string) Figure {
	for _, figure := range report.Figures() {
		if figure.Name == name {
			return figure
		}
	}
	g.Expect(name).To(BeEmpty(), "there is no line of this name")
	return Figure{}
}

func TestFiguresAreDerived(t *testing.T) {
	g := NewWithT(t)
	report := example()
	for name, want := range map[string]float64{
		"create → all Running":                                    12,
		"reconciles per Machine, create → Running":                6,
		"writes per Machine, create → Running":                    7, // not those of Clusters and Leases
		"writes of Nodes per Machine, create → Running":           0.5,
		"reads of provider objects per Machine, create → Running": 2, // not the informer's list and watch
		"requests per minute, settled":                            3, // not the watches
		"live heap per Machine":                                   10,
		"RSS per Machine":                                         40,
		"CPU per Node heartbeat":                                  0.2, // less what is used without any
	} {
		g.Expect(figure(g, report, name).Ours).To(HaveValue(BeNumerically("~", want, 1e-9)), name)
	}
	g.Expect(figure(g, report, "create → all Running").Ratio).To(HaveValue(Equal(0.25)))
}

func TestBudgets(t *testing.T) {
	g := NewWithT(t)
	report := example()
	g.Expect(figure(g, report, "reconciles per Machine, create → Running").Met).To(HaveValue(BeTrue()))
	g.Expect(figure(g, report, "writes per Machine, create → Running").Met).To(HaveValue(BeFalse()))
	g.Expect(figure(g, report, "RSS per Machine").Met).To(HaveValue(BeTrue()), "the limit itself is within the budget")
	g.Expect(figure(g, report, "create → all Running").Met).To(BeNil(), "no budget, no verdict")
	g.Expect(figure(g, report, "settled reconcile, p99").Met).To(BeNil(), "not measured, no verdict")
}

func TestWhatWasNotMeasuredIsMissing(t *testing.T) {
	g := NewWithT(t)
	empty := &Report{Settings: Settings{Machines: 10, Clusters: 2}, Peer: &Result{}}
	for _, figure := range empty.Figures() {
		g.Expect(figure.Ours).To(BeNil(), figure.Name)
		g.Expect(figure.Peer).To(BeNil(), figure.Name)
		g.Expect(figure.Ratio).To(BeNil(), figure.Name)
	}
}

func TestNoDivisionByNothing(t *testing.T) {
	g := NewWithT(t)
	report := &Report{
		Settings: Settings{Machines: 10, Clusters: 2},
		Ours: Result{
			Provisioning: &Provisioning{}, Unchanged: &Activity{}, ProviderHeartbeats: &Activity{Events: 1},
			Settled: &Settled{Activity: Activity{Seconds: 1, TotalSeconds: 1}}, Deletion: &Deletion{}, Restart: &Restart{},
		},
		Peer: &Result{Provisioning: &Provisioning{}},
	}
	report.Rows = report.Figures()
	_, err := json.Marshal(report) // fails on NaN and on infinity
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report.Rows[0].Ratio).To(BeNil())
}

func TestLinesHaveNamesOfTheirOwn(t *testing.T) {
	g := NewWithT(t)
	names := map[string]bool{}
	for _, line := range lines() {
		g.Expect(names).NotTo(HaveKey(line.name))
		names[line.name] = true
	}
}

func TestPrint(t *testing.T) {
	g := NewWithT(t)
	var text strings.Builder
	g.Expect(example().Print(&text)).To(Succeed())
	lines := strings.Split(text.String(), "\n")
	g.Expect(lines).To(ContainElements(
		"Peer: incomplete, because settled took longer than 10m0s",
		MatchRegexp(`^\| create → all Running +\| s +\| 12 +\| 48 +\| 0\.25 +\| +\| +\|$`),
		MatchRegexp(`^\| writes per Machine, create → Running +\| +\| 7 +\| 10 +\| 0\.7 +\| ≤ 6 +\| missed \|$`),
		MatchRegexp(`^\| live heap per Machine +\| KB +\| 10 +\| – +\| – +\| ≤ 15 +\| met +\|$`),
		MatchRegexp(`^\| patch machines/status +\| 5 \(0\.1\) +\| 10 +\|$`),
		MatchRegexp(`^\| patch nodes \(workload\) +\| 0\.5 +\| 0 +\|$`),
	))
}

func TestPrintWithoutPeer(t *testing.T) {
	g := NewWithT(t)
	report := example()
	report.Peer = nil
	var text strings.Builder
	g.Expect(report.Print(&text)).To(Succeed())
	g.Expect(text.String()).NotTo(ContainSubstring("incomplete"))
	g.Expect(text.String()).To(MatchRegexp(`(?m)^\| request +\| ours +\|$`))
}

func TestFormat(t *testing.T) {
	g := NewWithT(t)
	g.Expect(format(nil)).To(Equal("–"))
	for value, want := range map[float64]string{
		0: "0", 12345.6: "12346", 123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.1234: "0.123", 0.01234: "0.0123", 0.00001: "0",
		2: "2", 1.5: "1.5", 100: "100", -3.14159: "-3.14",
	} {
		g.Expect(format(&value)).To(Equal(want))
	}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// cases are two hours of series each, by what they are about. Values are 30 s apart: 20 of them are ten minutes.
type cases map[string][]string

// Labels that Prometheus adds, of us, of another installation, and of an operator with metrics of the same names.
const (
	job      = "machinist-metrics-service"
	ofUs     = `job="` + job + `",namespace="machinist-system"`
	ofTeam   = `job="` + job + `",namespace="team"`
	ofOthers = `job="capi-controller-manager",namespace="capi-system"`
)

const (
	leaderA   = `leader_election_master_status{` + ofUs + `,name="controller-leader-election-machinist",pod="a"} `
	leaderB   = `leader_election_master_status{` + ofUs + `,name="controller-leader-election-machinist",pod="b"} `
	leaderOf  = `leader_election_master_status{` + ofUs + `,name="controller-leader-election-machinist-`
	succeeds  = `controller_runtime_reconcile_total{` + ofUs + `,controller="machine",result="success"} `
	fails     = `controller_runtime_reconcile_errors_total{` + ofUs + `,controller="machine"} `
	failing   = `controller_runtime_reconcile_total{` + ofUs + `,controller="machine",result="error"} `
	panics    = `controller_runtime_reconcile_panics_total{` + ofUs + `,controller="machine"} `
	queue     = `workqueue_queue_duration_seconds_bucket{` + ofUs + `,name="machine",le=`
	synced    = `machinist_provider_informer_info{` + ofUs + `,role="InfraMachine",group="g",kind="K",state="synced"} `
	forbidden = `machinist_provider_informer_info{` + ofUs + `,role="InfraMachine",group="g",kind="K",state="forbidden"} `
	requests  = `rest_client_requests_total{` + ofUs + `,method="GET",host="h",code=`
	machines  = `machinist_machines{` + ofUs + `,machinist_dev_shard="s",phase=`
	admitted  = `controller_runtime_webhook_panics_total{` + ofUs + `} `
	converted = `controller_runtime_conversion_webhook_panics_total{` + ofUs + `} `
	expiry    = `machinist_webhook_certificate_expiry_timestamp_seconds{` + ofUs + `,certificate="serving"} `
	judged    = `machinist_reference_validation_rules_total{` + ofUs + `,operation="create",rule="R1",outcome=`
	judgedR2  = `machinist_reference_validation_rules_total{` + ofUs + `,operation="create",rule="R2",outcome=`
	memory    = `process_resident_memory_bytes{` + ofUs + `,pod="a"} `
	limit     = `go_gc_gomemlimit_bytes{` + ofUs + `,pod="a"} `
)

// beside are the series, and others as they would be with other labels than ours.
func beside(labels string, others []string, series ...string) []string {
	for _, other := range others {
		series = append(series, strings.Replace(other, ofUs, labels, 1))
	}
	return series
}

// slow is a queue in which two of a hundred wait for minutes, and fast one in which nobody does.
var (
	slow = []string{queue + `"10"} 0+98x240`, queue + `"100"} 0+98x240`, queue + `"1000"} 0+100x240`, queue + `"+Inf"} 0+100x240`}
	fast = []string{queue + `"10"} 0+9999x240`, queue + `"100"} 0+9999x240`, queue + `"1000"} 0+9999x240`, queue + `"+Inf"} 0+9999x240`}
)

// firing are situations in which an alert has to fire, and silent those in which it must not.
var firing, silent = map[string]cases{
	"MachinistHasNoLeader": {
		"no replica leads":                    {leaderA + "0x240", leaderB + "0x240"},
		"no replica is scraped":               {"up 0x240"},
		"nobody of us is scraped":             {`leader_election_master_status{name="other"} 1x240`},
		"one shard of two has none":           {leaderOf + `s0"} 1x240`, leaderOf + `s1"} 0x240`},
		"one shard of two is gone":            {leaderOf + `s0"} 1x240`, leaderOf + `s1"} 1x100`},
		"nobody takes over for three minutes": {leaderA + "1x100 0x139", leaderB + "0x106 1x133"},
		"the last replica is gone":            {leaderA + "1x100"},
		"another installation has one":        beside(ofTeam, []string{leaderA + "1x240"}, leaderA+"0x240"),
		"one installation of two is gone":     beside(ofTeam, []string{leaderA + "1x240"}, leaderA+"1x100"),
		"only somebody else leads":            beside(ofOthers, []string{leaderA + "1x240"}),
	},
	"MachinistReconcilesFail": {
		"one of five":             {succeeds + "0+24x240", failing + "0+6x240", fails + "0+6x240"},
		"all of one installation": beside(ofTeam, []string{succeeds + "0+99x240", fails + "0x240"}, failing+"0+1x240", fails+"0+1x240"),
	},
	"MachinistPanics": {"once": {panics + "0x100 1x139"}},
	"MachinistIsSlow": {
		"two of a hundred wait for minutes":       slow,
		"but nobody of another installation does": beside(ofTeam, fast, slow...),
	},
	"MachinistCannotReadKind": {"it is not allowed to": {synced + "_x20 0x220", forbidden + "1x240"}},
	"MachinistIsForbidden":    {"again and again": {requests + `"403"} _x100 1+1x139`}},
	"MachinistRequestsFail": {
		"one of ten by the API server":  {requests + `"200"} 0+9x240`, requests + `"500"} 0+1x240`},
		"one of ten for being too many": {requests + `"200"} 0+9x240`, requests + `"429"} 0+1x240`},
		"the API server is away":        {requests + `"<error>"} 0+1x240`},
		"of one installation of two":    beside(ofTeam, []string{requests + `"200"} 0+99x240`}, requests+`"<error>"} 0+1x240`),
	},
	"MachinistMachinesNotRunning": {
		"one of five":                {machines + `"Running"} 80x240`, machines + `"Provisioning"} 20x240`},
		"the only one":               {machines + `"Running"} 0x240`, machines + `"Pending"} 1x240`},
		"those that fail":            {machines + `"Running"} 80x240`, machines + `"Failed"} 20x240`},
		"of one installation of two": beside(ofTeam, []string{machines + `"Running"} 99x240`}, machines+`"Running"} 0x240`, machines+`"Pending"} 1x240`),
	},
	"MachinistWebhooksPanic": {
		"admission, once":  {admitted + "0x100 1x139", converted + "0x240"},
		"conversion, once": {admitted + "0x240", converted + "0x100 1x139"},
	},
	"MachinistCannotRenewCertificates": {"six days are left": {expiry + "525600x240"}, "it has expired": {expiry + "0x240"}},
	"MachinistCannotJudgeReferences": {
		"one of five":                {judged + `"allow"} 0+8x240`, judged + `"error"} 0+2x240`},
		"one rule of many":           {judged + `"error"} 0+1x240`, judgedR2 + `"allow"} 0+39x240`},
		"of one installation of two": beside(ofTeam, []string{judged + `"allow"} 0+39x240`}, judged+`"error"} 0+1x240`),
	},
	"MachinistMemoryIsShort": {"of 95 %": {memory + "95x240", limit + "100x240"}},
}, map[string]cases{
	"MachinistHasNoLeader": {
		"one leads":                                   {leaderA + "0x240", leaderB + "1x240"},
		"another one takes over":                      {leaderA + "1x100 0x139", leaderB + "0x102 1x137"},
		"each shard has one":                          {leaderOf + `s0",pod="a"} 1x240`, leaderOf + `s0",pod="b"} 0x240`, leaderOf + `s1",pod="c"} 1x240`},
		"it is restarted in a minute":                 {leaderA + "1x100 _x2 1x137"},
		"somebody else leads, as well":                {leaderA + "1x240", `leader_election_master_status{name="other"} 0x240`},
		"somebody else's, of the same name, has none": beside(ofOthers, []string{leaderA + "0x240"}, leaderA+"1x240"),
	},
	"MachinistReconcilesFail": {
		"one of thirty":                     {succeeds + "0+29x240", failing + "0+1x240", fails + "0+1x240"},
		"one of five, for ten minutes":      {succeeds + "0+30x240", failing + "0x100 0+6x20 120x118", fails + "0x100 0+6x20 120x118"},
		"there is nothing to do":            {succeeds + "7x240", fails + "0x240"},
		"those of somebody else all fail":   {succeeds + "0+1x240", fails + "0x240", `controller_runtime_reconcile_errors_total{controller="other"} 0+1x240`},
		"somebody else's, of the same name": beside(ofOthers, []string{failing + "0+1x240", fails + "0+1x240"}, succeeds+"0+1x240", fails+"0x240"),
	},
	"MachinistPanics": {
		"never":                             {panics + "0x240"},
		"long ago":                          {panics + "3x240"},
		"somebody else's, of the same name": beside(ofOthers, []string{panics + "0x100 1x139"}, panics+"0x240"),
	},
	"MachinistIsSlow": {
		"most wait for half a minute":       {queue + `"10"} 0x240`, queue + `"100"} 0+100x240`, queue + `"1000"} 0+100x240`, queue + `"+Inf"} 0+100x240`},
		"one of a thousand for longer":      {queue + `"10"} 0+999x240`, queue + `"100"} 0+999x240`, queue + `"1000"} 0+1000x240`, queue + `"+Inf"} 0+1000x240`},
		"nobody waits":                      {queue + `"10"} 5x240`, queue + `"+Inf"} 5x240`},
		"somebody else's, of the same name": beside(ofOthers, slow, fast...),
	},
	"MachinistCannotReadKind": {"it is read": {synced + "1x240"}, "it takes five minutes": {forbidden + "1x10", synced + "_x11 1x228"}},
	"MachinistIsForbidden": {
		"allowed":                           {requests + `"200"} 0+1x240`},
		"once":                              {requests + `"403"} 0x100 1x139`},
		"somebody else's, of the same name": beside(ofOthers, []string{requests + `"403"} 0+1x240`}, requests+`"200"} 0+1x240`),
	},
	"MachinistRequestsFail": {
		"one of fifty":                        {requests + `"200"} 0+49x240`, requests + `"500"} 0+1x240`},
		"what is not there, and conflicts":    {requests + `"200"} 0+1x240`, requests + `"404"} 0+9x240`, requests + `"409"} 0+9x240`},
		"there are none":                      {requests + `"200"} 9x240`, requests + `"500"} 1x240`},
		"the API server is away for a minute": {requests + `"200"} 0+10x240`, requests + `"<error>"} 0x100 0+10x2 20x136`},
		"somebody else's, of the same name":   beside(ofOthers, []string{requests + `"500"} 0+1x240`}, requests+`"200"} 0+1x240`),
	},
	"MachinistMachinesNotRunning": {
		"one of fifty":                 {machines + `"Running"} 49x240`, machines + `"Pending"} 1x240`},
		"they are deleted, or updated": {machines + `"Deleting"} 5x240`, machines + `"Updating"} 5x240`},
		"they start, for half an hour": {machines + `"Running"} 50x240`, machines + `"Provisioning"} 0x100 50x60 0x78`},
		"there are none":               {machines + `"Running"} 0x240`, machines + `"Pending"} 0x240`},
		"two replicas tell of them": {
			machines + `"Running",pod="a"} 95x240`, machines + `"Running",pod="b"} 95x240`, machines + `"Pending",pod="a"} 5x240`, machines + `"Pending",pod="b"} 5x240`,
		},
	},
	"MachinistWebhooksPanic": {
		"never":                             {admitted + "0x240", converted + "0x240"},
		"somebody else's, of the same name": beside(ofOthers, []string{admitted + "0x100 1x139", converted + "0x240"}, admitted+"0x240", converted+"0x240"),
	},
	"MachinistCannotRenewCertificates": {"a month is left": {expiry + "2592000x240"}, "none is kept": {"up 1x240"}},
	"MachinistCannotJudgeReferences": {
		"one of fifty":        {judged + `"allow"} 0+49x240`, judged + `"error"} 0+1x240`},
		"nobody asks":         {judged + `"allow"} 9x240`, judged + `"error"} 9x240`},
		"they find something": {judged + `"allow"} 0+1x240`, judged + `"deny"} 0+1x240`, judged + `"skipped"} 0+1x240`},
	},
	"MachinistMemoryIsShort": {
		"of 80 %":         {memory + "80x240", limit + "100x240"},
		"without limit":   {memory + "1e9x240", limit + "9.223372036854775807e18x240"},
		"a moment":        {memory + "50x100 95x10 50x128", limit + "100x240"},
		"somebody else's": {`process_resident_memory_bytes{job="x"} 95x240`, `go_gc_gomemlimit_bytes{job="x"} 100x240`},
	},
}

var _ = It("Each alert fires when it has to, and only then", func(ctx SpecContext) {
	alerts, _ := expressionsOf(render(ctx, "prometheus"))
	Expect(slices.Collect(maps.Keys(firing))).To(ConsistOf(slices.Collect(maps.Keys(alerts))))
	Expect(slices.Collect(maps.Keys(silent))).To(ConsistOf(slices.Collect(maps.Keys(alerts))))
	const interval = 30
	var asked []queries
	var verify []func(map[string]result)
	add := func(all map[string]cases, fires bool) {
		for name, situations := range all {
			for situation, series := range situations {
				rule := alerts[name]
				asked = append(asked, queries{Series: series, Interval: interval, Seconds: 240 * interval, Expressions: map[string]string{name: rule.Expr}})
				verify = append(verify, func(results map[string]result) {
					seconds := results[name].seconds(interval)
					Expect(seconds >= 0 && seconds >= int(rule.For.Seconds())).To(Equal(fires),
						"%s, if %s: true for %d s, and fires after %s", name, situation, seconds, rule.For.Duration)
					if fires && name != "MachinistHasNoLeader" { // nobody knows where those are that are nowhere
						Expect(results[name].Series).To(HaveEach(HaveField("Labels", HaveKey("namespace"))), "%s tells which installation", name)
					}
				})
			}
		}
	}
	add(firing, true)
	add(silent, false)
	for i, results := range evaluate(ctx, asked...) {
		verify[i](results)
	}
})

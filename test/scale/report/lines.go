// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

// line derives one figure from a result. It has no value if the part that it needs was not measured.
type line struct {
	name, unit string
	// budget is the most that our figure may be, nil if there is none.
	budget *float64
	value  func(Settings, *Result) *float64
}

// lines is the table. Every budget is stated here and nowhere else.
func lines() []line {
	return slices.Concat(provisioningLines(), settledLines(), memoryLines(), disturbanceLines(), restartLines(), deletionLines())
}

func provisioningLines() []line {
	of := func(value func(Settings, *Provisioning) float64) func(Settings, *Result) *float64 {
		return part(func(r *Result) *Provisioning { return r.Provisioning }, value)
	}
	return []line{
		{"create → all Running", "s", nil, of(func(_ Settings, p *Provisioning) float64 { return p.RunningSeconds })},
		{"create → Running, p50 of Machines", "s", nil, of(func(_ Settings, p *Provisioning) float64 { return p.P50Seconds })},
		{"create → Running, p99 of Machines", "s", nil, of(func(_ Settings, p *Provisioning) float64 { return p.P99Seconds })},
		{"reconciles per Machine, create → Running", "", new(7.0), of(func(s Settings, p *Provisioning) float64 {
			return perMachine(s, p.Reconciles.Count)
		})},
		{"failing reconciles, create → Running", "%", new(0.0), of(func(_ Settings, p *Provisioning) float64 {
			return percent(p.Reconciles.Errors, p.Reconciles.Count)
		})},
		{"reconcile while provisioning, mean", "ms", nil, of(func(_ Settings, p *Provisioning) float64 { return milli(p.Reconciles.MeanSeconds) })},
		{"reconcile while provisioning, p50", "ms", nil, of(func(_ Settings, p *Provisioning) float64 { return milli(p.Reconciles.P50Seconds) })},
		{"reconcile while provisioning, p99", "ms", nil, of(func(_ Settings, p *Provisioning) float64 { return milli(p.Reconciles.P99Seconds) })},
		{"writes per Machine, create → Running", "", new(6.0), of(func(s Settings, p *Provisioning) float64 {
			return perMachine(s, writes(p.Requests).All)
		})},
		{"conflicts among writes, create → Running", "%", new(1.0), of(func(_ Settings, p *Provisioning) float64 {
			return percent(writes(p.Requests).Conflicts, writes(p.Requests).All)
		})},
		{"writes of Nodes per Machine, create → Running", "", nil, of(func(s Settings, p *Provisioning) float64 {
			return perMachine(s, writes(p.WorkloadRequests).All)
		})},
		{"reads of provider objects per Machine, create → Running", "", new(0.0), of(func(s Settings, p *Provisioning) float64 {
			return perMachine(s, providerReads(p.Requests).All)
		})},
		{"CPU of the manager per Machine, create → Running", "ms", nil, of(func(s Settings, p *Provisioning) float64 {
			return milli(p.CPUSeconds) / float64(s.Machines)
		})},
	}
}

func settledLines() []line {
	settled := func(value func(Settings, *Settled) float64) func(Settings, *Result) *float64 {
		return part(func(r *Result) *Settled { return r.Settled }, value)
	}
	unchanged := func(value func(Settings, *Activity) float64) func(Settings, *Result) *float64 {
		return part(func(r *Result) *Activity { return r.Unchanged }, value)
	}
	return []line{
		{"requests per minute, settled", "", new(0.0), settled(func(_ Settings, p *Settled) float64 {
			return 60 * float64(requests(p.Requests).All) / p.TotalSeconds
		})},
		{"requests per minute and workload cluster, settled", "", nil, settled(func(s Settings, p *Settled) float64 {
			return 60 * float64(requests(p.WorkloadRequests).All) / p.TotalSeconds / float64(s.Clusters)
		})},
		{"CPU of the manager, settled", "ms/s", nil, settled(func(_ Settings, p *Settled) float64 { return milli(p.CPUSeconds) / p.Seconds })},
		{"settled reconcile, mean", "ms", nil, unchanged(func(_ Settings, a *Activity) float64 { return milli(a.Reconciles.MeanSeconds) })},
		{"settled reconcile, p50", "ms", new(0.3), unchanged(func(_ Settings, a *Activity) float64 { return milli(a.Reconciles.P50Seconds) })},
		{"settled reconcile, p99", "ms", new(5.0), unchanged(func(_ Settings, a *Activity) float64 { return milli(a.Reconciles.P99Seconds) })},
		{"requests per settled reconcile", "", new(0.0), unchanged(func(_ Settings, a *Activity) float64 {
			// Of those to workload clusters the writes only: the probes of the connections go on meanwhile.
			return ratio(requests(a.Requests).All+writes(a.WorkloadRequests).All, a.Reconciles.Count)
		})},
	}
}

func memoryLines() []line {
	growth := func(of func(*Footprint) int64) func(Settings, *Result) *float64 {
		return func(s Settings, r *Result) *float64 {
			if r.Idle == nil || r.Settled == nil {
				return nil
			}
			return new(float64(of(&r.Settled.Footprint)-of(r.Idle)) / 1000 / float64(s.Machines))
		}
	}
	idle := func(r *Result) *Footprint { return r.Idle }
	settled := func(r *Result) *Settled { return r.Settled }
	object := func(r *Result) *ObjectFootprint { return r.ProviderObject }
	return []line{
		{"live heap, no Machines", "MB", nil, part(idle, func(_ Settings, f *Footprint) float64 { return mega(f.HeapBytes) })},
		{"live heap, settled", "MB", nil, part(settled, func(_ Settings, p *Settled) float64 { return mega(p.Footprint.HeapBytes) })},
		{"live heap per Machine", "KB", new(15.0), growth(func(f *Footprint) int64 { return f.HeapBytes })},
		{"live heap per provider object", "B", new(2048.0), part(object, func(_ Settings, f *ObjectFootprint) float64 { return f.HeapBytes })},
		{"RSS per provider object", "B", nil, part(object, func(_ Settings, f *ObjectFootprint) float64 { return f.ResidentBytes })},
		{"RSS, no Machines", "MB", nil, part(idle, func(_ Settings, f *Footprint) float64 { return mega(f.ResidentBytes) })},
		{"RSS, settled", "MB", nil, part(settled, func(_ Settings, p *Settled) float64 { return mega(p.Footprint.ResidentBytes) })},
		{"RSS per Machine", "KB", new(40.0), growth(func(f *Footprint) int64 { return f.ResidentBytes })},
		{"RSS, peak until settled", "MB", nil, part(settled, func(_ Settings, p *Settled) float64 { return mega(p.Footprint.PeakResidentBytes) })},
	}
}

func disturbanceLines() []line {
	var all []line
	for _, disturbance := range []struct {
		name string
		of   func(*Result) *Activity
	}{
		{"provider heartbeat", func(r *Result) *Activity { return r.ProviderHeartbeats }},
		{"Node heartbeat", func(r *Result) *Activity { return r.NodeHeartbeats }},
	} {
		all = append(all,
			line{"reconciles per " + disturbance.name, "", new(0.0), part(disturbance.of, func(_ Settings, a *Activity) float64 {
				return ratio(a.Reconciles.Count, a.Events)
			})},
			line{"writes per " + disturbance.name, "", new(0.0), part(disturbance.of, func(_ Settings, a *Activity) float64 {
				return ratio(writes(a.Requests).All+writes(a.WorkloadRequests).All, a.Events)
			})},
			line{"CPU per " + disturbance.name, "ms", new(0.2), func(_ Settings, r *Result) *float64 {
				activity := disturbance.of(r)
				if activity == nil || r.Settled == nil {
					return nil
				}
				// What the manager uses without any event is not the events' fault.
				background := activity.Seconds * r.Settled.CPUSeconds / r.Settled.Seconds
				return new(max(0, milli(activity.CPUSeconds-background)/float64(activity.Events)))
			}},
		)
	}
	change := func(r *Result) *Latency { return r.ProviderChange }
	return append(all,
		line{"provider change → Machine change, p50", "ms", new(15.0), part(change, func(_ Settings, l *Latency) float64 { return milli(l.P50Seconds) })},
		line{"provider change → Machine change, p99", "ms", new(250.0), part(change, func(_ Settings, l *Latency) float64 { return milli(l.P99Seconds) })},
	)
}

func restartLines() []line {
	of := func(value func(Settings, *Restart) float64) func(Settings, *Result) *float64 {
		return part(func(r *Result) *Restart { return r.Restart }, value)
	}
	return []line{
		{"restart → every Machine reconciled", "s", nil, of(func(_ Settings, p *Restart) float64 { return p.AllSeconds })},
		{"restart → quiet", "s", nil, of(func(_ Settings, p *Restart) float64 { return p.QuietSeconds })},
		{"reconciles per Machine after a restart", "", nil, of(func(s Settings, p *Restart) float64 { return perMachine(s, p.Reconciles.Count) })},
		{"CPU of a restart", "s", nil, of(func(_ Settings, p *Restart) float64 { return p.CPUSeconds })},
		{"RSS, peak after a restart", "MB", nil, of(func(_ Settings, p *Restart) float64 { return mega(p.PeakResidentBytes) })},
	}
}

func deletionLines() []line {
	of := func(value func(Settings, *Deletion) float64) func(Settings, *Result) *float64 {
		return part(func(r *Result) *Deletion { return r.Deletion }, value)
	}
	return []line{
		{"delete → all gone", "s", nil, of(func(_ Settings, p *Deletion) float64 { return p.GoneSeconds })},
		{"reconciles per Machine deletion", "", nil, of(func(s Settings, p *Deletion) float64 { return perMachine(s, p.Reconciles.Count) })},
		{"writes per Machine deletion", "", new(6.0), of(func(s Settings, p *Deletion) float64 { return perMachine(s, writes(p.Requests).All) })},
		{"conflicts among writes, deletion", "%", nil, of(func(_ Settings, p *Deletion) float64 {
			return percent(writes(p.Requests).Conflicts, writes(p.Requests).All)
		})},
		{"reads of provider objects per Machine deletion", "", nil, of(func(s Settings, p *Deletion) float64 {
			return perMachine(s, providerReads(p.Requests).All)
		})},
		{"writes of Nodes per Machine deletion", "", nil, of(func(s Settings, p *Deletion) float64 {
			return perMachine(s, writes(p.WorkloadRequests).All)
		})},
	}
}

// part makes the value of a line from one part of a result, if it was measured.
func part[P any](of func(*Result) *P, value func(Settings, *P) float64) func(Settings, *Result) *float64 {
	return func(settings Settings, result *Result) *float64 {
		measured := of(result)
		if measured == nil {
			return nil
		}
		return new(value(settings, measured))
	}
}

// writes are the requests that change something for a Machine. Those of other controllers in the same manager, which grow
// with the number of Clusters, are left out.
func writes(counts measure.Requests) measure.Responses {
	return counts.Where(func(verb, resource string) bool { return measure.IsWrite(verb) && concernsMachines(resource) }).Total()
}

// requests are all but watches: the API server ends each of them now and then, and the informer asks again.
func requests(counts measure.Requests) measure.Responses {
	return counts.Where(func(verb, _ string) bool { return verb != "watch" }).Total()
}

// providerReads are the reads of single provider objects.
func providerReads(counts measure.Requests) measure.Responses {
	return counts.Where(func(verb, resource string) bool {
		return verb == "get" && (resource == "simmachines" || resource == "simconfigs")
	}).Total()
}

func concernsMachines(resource string) bool {
	switch resource {
	case "clusters", "customresourcedefinitions", "leases":
		return false
	}
	return true
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

func perMachine[N number](s Settings, count N) float64 { return float64(count) / float64(s.Machines) }

func milli(seconds float64) float64 { return 1000 * seconds }

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

// ratio is 0 where there is nothing to relate to.
func ratio[A, B number](count A, of B) float64 {
	if of == 0 {
		return 0
	}
	return float64(count) / float64(of)
}

func percent[A, B number](count A, of B) float64 { return 100 * ratio(count, of) }

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are the counters of one kind.
type counts struct {
	seen    atomic.Int64
	ignored atomic.Int64
	// ownReads are reads that were answered from our own last write, because the informer was behind it.
	ownReads atomic.Int64
}

// sampled is the number of objects whose size is measured to estimate that of all.
const sampled = 100

var kindLabels = []string{"role", "group", "kind"}

func description(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("machinist_provider_"+name, help, append(slices.Clip(kindLabels), labels...), nil)
}

var (
	objectsMetric  = description("objects", "Objects of the kind in memory.")
	bytesMetric    = description("object_bytes", "Estimated bytes of heap that the objects of the kind take in memory, from a sample.")
	informerMetric = description("informer_info", "1 for the state of the kind's informer: synced, or why not. Labels tell API version and contract version.", "state", "api_version", "contract_version")
	seenMetric     = description("events_total", "Watch events of the kind.")
	ignoredMetric  = description("events_contract_equal_total", "Watch events of the kind that changed nothing in the contract and were ignored.")
	ownReadsMetric = description("reads_own_write_total", "Reads that were answered from our own last write because the informer was behind it.")
)

// Describe implements prometheus.Collector.
func (t *Tracker) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{objectsMetric, bytesMetric, informerMetric, seenMetric, ignoredMetric, ownReadsMetric} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector. There is one set of series for each kind in use, and none for others.
func (t *Tracker) Collect(metrics chan<- prometheus.Metric) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for kind, watch := range t.kinds {
		labels := []string{kind.Role.String(), kind.Group, kind.Kind}
		gauge := func(d *prometheus.Desc, value float64, more ...string) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append(slices.Clip(labels), more...)...)
		}
		counter := func(d *prometheus.Desc, value int64) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
		}
		state := watch.state.Load()
		condition := "synced"
		if state.problem != nil {
			condition = string(state.problem.Problem)
		}
		objects, bytes := state.serving.size()
		gauge(objectsMetric, float64(objects))
		gauge(bytesMetric, bytes)
		gauge(informerMetric, 1, condition, state.resolution.APIVersion, string(state.resolution.ContractVersion))
		counter(seenMetric, watch.counts.seen.Load())
		counter(ignoredMetric, watch.counts.ignored.Load())
		counter(ownReadsMetric, watch.counts.ownReads.Load())
	}
}

// size returns the number of objects in the store and an estimate of the bytes that they take.
func (i *informer) size() (objects int, bytes float64) {
	if i == nil {
		return 0, 0
	}
	keys := i.shared.GetStore().ListKeys()
	measured := 0
	for _, key := range keys[:min(len(keys), sampled)] {
		item, _, _ := i.shared.GetStore().GetByKey(key)
		if object, ok := item.(*packed); ok {
			bytes += float64(int(unsafe.Sizeof(*object)) + len(object.namespace) + len(object.name) + len(object.uid) + len(object.resourceVersion) + cap(object.json) + len(key))
			measured++
		}
	}
	if measured > 0 {
		bytes *= float64(len(keys)) / float64(measured)
	}
	return len(keys), bytes
}

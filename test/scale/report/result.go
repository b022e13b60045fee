// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

// Report is everything that one run of the harness has to say, and what it writes as JSON.
type Report struct {
	Time     time.Time `json:"time"`
	Settings Settings  `json:"settings"`
	Host     Host      `json:"host"`
	// Results are those of our manager and, if it ran, of the peer.
	Ours Result  `json:"ours"`
	Peer *Result `json:"peer,omitempty"`
	// Rows are the table: figures derived from the results.
	Rows []Figure `json:"rows"`
}

// Settings are what was run, the same for both managers.
type Settings struct {
	Machines    int `json:"machines"`
	Clusters    int `json:"clusters"`
	PayloadSize int `json:"payloadBytes"`
	// MachinesPerSecond is the pace of creation and deletion, 0 for as fast as it goes.
	MachinesPerSecond float64       `json:"machinesPerSecond"`
	QPS               int           `json:"qps"`
	Burst             int           `json:"burst"`
	Concurrency       int           `json:"concurrency"`
	ProviderDelay     time.Duration `json:"providerDelayNanoseconds"`
	Seed              uint64        `json:"seed"`
}

// Host is where it was run.
type Host struct {
	CPUs        int    `json:"cpus"`
	CPUModel    string `json:"cpuModel,omitempty"`
	MemoryBytes int64  `json:"memoryBytes,omitempty"`
	System      string `json:"system"`
	Go          string `json:"go"`
	Kubernetes  string `json:"kubernetes"`
}

// Result is what was measured of one manager. A part that is nil was not measured; Failure says why.
type Result struct {
	Manager string `json:"manager"`
	Version string `json:"version"`
	// Failure ended the measurements.
	Failure string `json:"failure,omitempty"`

	Idle         *Footprint    `json:"idle,omitempty"`
	Provisioning *Provisioning `json:"provisioning,omitempty"`
	Settled      *Settled      `json:"settled,omitempty"`
	Unchanged    *Activity     `json:"unchanged,omitempty"`
	// ProviderHeartbeats and NodeHeartbeats are changes that no Machine needs to know.
	ProviderHeartbeats *Activity        `json:"providerHeartbeats,omitempty"`
	NodeHeartbeats     *Activity        `json:"nodeHeartbeats,omitempty"`
	ProviderObject     *ObjectFootprint `json:"providerObject,omitempty"`
	ProviderChange     *Latency         `json:"providerChange,omitempty"`
	Restart            *Restart         `json:"restart,omitempty"`
	Deletion           *Deletion        `json:"deletion,omitempty"`
}

// Footprint is the memory of a manager.
type Footprint struct {
	HeapBytes     int64 `json:"heapBytes"`
	ResidentBytes int64 `json:"residentBytes"`
	// PeakResidentBytes is the most since the process started.
	PeakResidentBytes int64 `json:"peakResidentBytes"`
}

// Reconciles summarizes the reconciles of the Machine controller.
type Reconciles struct {
	Count       uint64  `json:"count"`
	Errors      uint64  `json:"errors"`
	MeanSeconds float64 `json:"meanSeconds"`
	P50Seconds  float64 `json:"p50Seconds"`
	P99Seconds  float64 `json:"p99Seconds"`
}

// Summarize returns the summary of reconciles.
func Summarize(r measure.Reconciles) Reconciles {
	return Reconciles{
		Count: r.Time.Count, Errors: r.Errors, MeanSeconds: r.Time.Mean().Seconds(),
		P50Seconds: r.Time.Quantile(0.5).Seconds(), P99Seconds: r.Time.Quantile(0.99).Seconds(),
	}
}

// Activity is what a manager did in answer to a number of events.
type Activity struct {
	Events int `json:"events"`
	// CPUSeconds were used within Seconds. Everything else was counted for longer, TotalSeconds, until the manager was quiet.
	Seconds      float64    `json:"seconds"`
	TotalSeconds float64    `json:"totalSeconds"`
	CPUSeconds   float64    `json:"cpuSeconds"`
	Reconciles   Reconciles `json:"reconciles"`
	// Requests are those to the management cluster, WorkloadRequests those to the workload clusters.
	Requests         measure.Requests `json:"requests"`
	WorkloadRequests measure.Requests `json:"workloadRequests"`
}

// Provisioning is the way from the creation of the first object to the last Machine that is Running, and on until the
// manager has nothing left to do: the activity goes to that end.
type Provisioning struct {
	Activity
	// CreatedSeconds is when the last object was created, RunningSeconds when the last Machine was Running.
	CreatedSeconds float64 `json:"createdSeconds"`
	RunningSeconds float64 `json:"runningSeconds"`
	// P50Seconds and P99Seconds are of the time that each Machine took.
	P50Seconds float64 `json:"p50Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	Sizes      Sizes   `json:"sizes"`
}

// Sizes are of the JSON of objects as the API server returns them at the end of provisioning, in bytes.
type Sizes struct {
	Machine         int `json:"machine"`
	InfraMachine    int `json:"infraMachine"`
	BootstrapConfig int `json:"bootstrapConfig"`
	Node            int `json:"node"`
}

// Settled is a while in which nothing happens.
type Settled struct {
	Activity
	Footprint Footprint `json:"footprint"`
}

// ObjectFootprint is what the memory of a manager grows by for each provider object more.
type ObjectFootprint struct {
	Objects       int     `json:"objects"`
	ObjectBytes   int     `json:"objectBytes"`
	HeapBytes     float64 `json:"heapBytes"`
	ResidentBytes float64 `json:"residentBytes"`
}

// Latency is from an event to the change that it causes.
type Latency struct {
	Samples int `json:"samples"`
	// Lost are the events after which no change was seen in time; they count as if it had come at the last moment.
	Lost       int     `json:"lost,omitempty"`
	P50Seconds float64 `json:"p50Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	MaxSeconds float64 `json:"maxSeconds"`
}

// Restart is what a manager does after its start while all Machines are settled.
type Restart struct {
	// ReadySeconds is when it said that it was ready, AllSeconds when it had done as many reconciles as there are
	// Machines and a Machine showed a change of its InfraMachine made after them, QuietSeconds when the last reconcile ended;
	// all from the start of the process.
	ReadySeconds      float64    `json:"readySeconds"`
	AllSeconds        float64    `json:"allSeconds"`
	QuietSeconds      float64    `json:"quietSeconds"`
	CPUSeconds        float64    `json:"cpuSeconds"`
	PeakResidentBytes int64      `json:"peakResidentBytes"`
	Reconciles        Reconciles `json:"reconciles"`
	// Requests are those to the management cluster.
	Requests measure.Requests `json:"requests"`
}

// Deletion is the way from the deletion of the first Machine to the disappearance of the last.
type Deletion struct {
	Activity
	GoneSeconds float64 `json:"goneSeconds"`
}

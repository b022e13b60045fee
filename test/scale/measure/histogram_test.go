// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"
)

// newNative returns a histogram with the options that controller-runtime gives its own.
func newNative(maxBuckets uint32) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "time_seconds", Buckets: []float64{0.005, 0.01},
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: maxBuckets, NativeHistogramMinResetDuration: time.Hour,
	})
}

func read(t rapid.TB, histogram prometheus.Histogram) Histogram {
	t.Helper()
	metric := &dto.Metric{}
	if err := histogram.Write(metric); err != nil {
		t.Fatalf("write: %v", err)
	}
	decoded, err := newHistogram(metric.GetHistogram())
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return decoded
}

// durations draws some from microseconds to minutes.
func durations(t *rapid.T, label string) Durations {
	return rapid.SliceOfN(rapid.Map(rapid.Float64Range(-6, 2), func(exponent float64) time.Duration {
		return time.Duration(math.Pow(10, exponent) * float64(time.Second))
	}), 1, 300).Draw(t, label)
}

func TestQuantileIsExactToTheWidthOfABucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		histogram, observed := newNative(1000), durations(t, "observed")
		for _, d := range observed {
			histogram.Observe(d.Seconds())
		}
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		found, exact := read(t, histogram).Quantile(q), observed.Quantile(q)
		if ratio := found.Seconds() / exact.Seconds(); ratio < 1/1.1 || ratio > 1.1 {
			t.Fatalf("quantile %v of %v: expected about %s, found %s", q, observed, exact, found)
		}
	})
}

func TestSinceIsWhatWasObservedAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// So few buckets that the histogram lowers its resolution on the way.
		all, later := newNative(20), newNative(20)
		earlier := durations(t, "earlier")
		for _, d := range earlier {
			all.Observe(d.Seconds())
		}
		before := read(t, all)
		var sum time.Duration
		observed := durations(t, "later")
		for _, d := range observed {
			all.Observe(d.Seconds())
			later.Observe(d.Seconds())
			sum += d
		}
		since := read(t, all).Since(before)
		if since.Count != uint64(len(observed)) {
			t.Fatalf("expected %d observations, found %d", len(observed), since.Count)
		}
		if difference := (since.Sum - sum).Abs(); difference > time.Microsecond {
			t.Fatalf("expected a sum of %s, found %s", sum, since.Sum)
		}
		var inBuckets uint64
		for _, count := range since.buckets {
			inBuckets += count
		}
		if inBuckets+since.zero != since.Count {
			t.Fatalf("expected %d observations in the buckets, found %d", since.Count, inBuckets)
		}
		want := read(t, later)
		schema := min(want.schema, since.schema)
		if a, b := want.coarser(schema), since.coarser(schema); !equalCounts(a, b) {
			t.Fatalf("expected the buckets %v, found %v", a, b)
		}
	})
}

func equalCounts(a, b map[int32]uint64) bool {
	for index, count := range a {
		if b[index] != count {
			return false
		}
	}
	return len(a) == len(b)
}

func TestHistogramWithoutObservations(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Histogram{}.Quantile(0.99)).To(BeZero())
	g.Expect(Histogram{}.Mean()).To(BeZero())
	g.Expect(Histogram{}.Since(Histogram{}).Count).To(BeZero())
}

func TestClassicHistogramIsAnError(t *testing.T) {
	g := NewWithT(t)
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "time_seconds"})
	histogram.Observe(1)
	metric := &dto.Metric{}
	g.Expect(histogram.Write(metric)).To(Succeed())
	_, err := newHistogram(metric.GetHistogram())
	g.Expect(err).To(MatchError(ContainSubstring("without native buckets")))
}

func TestBrokenSpansAreAnError(t *testing.T) {
	g := NewWithT(t)
	_, err := newHistogram(&dto.Histogram{
		Schema:        new(int32(3)),
		PositiveSpan:  []*dto.BucketSpan{{Offset: new(int32(0)), Length: new(uint32(2))}},
		PositiveDelta: []int64{1},
	})
	g.Expect(err).To(MatchError(ContainSubstring("fewer counts")))
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Histogram is a Prometheus native histogram of durations. Its buckets grow by a constant factor of 1.1 to 1.2, where the
// classic buckets of the same metric begin at 5 ms: too coarse for reconciles that take less than one.
type Histogram struct {
	Count uint64
	Sum   time.Duration

	// schema is the resolution: the factor from bucket to bucket is 2^(2^-schema). A process lowers it when it has used
	// too many buckets.
	schema int32
	// zero is the number of observations that are too small for a bucket.
	zero uint64
	// buckets holds, for each index i that is in use, the observations above factor^(i-1) and up to factor^i seconds.
	buckets map[int32]uint64
}

// newHistogram decodes a histogram that has native buckets.
func newHistogram(encoded *dto.Histogram) (Histogram, error) {
	h := Histogram{
		Count:   encoded.GetSampleCount(),
		Sum:     time.Duration(encoded.GetSampleSum() * float64(time.Second)),
		schema:  encoded.GetSchema(),
		zero:    encoded.GetZeroCount(),
		buckets: map[int32]uint64{},
	}
	if encoded.Schema == nil {
		return h, fmt.Errorf("found a histogram of %d observations without native buckets", h.Count)
	}
	deltas := encoded.GetPositiveDelta()
	var index int32
	var count int64
	for _, span := range encoded.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			if len(deltas) == 0 {
				return h, fmt.Errorf("found a native histogram with fewer counts than its spans have buckets")
			}
			count += deltas[0]
			deltas = deltas[1:]
			if count > 0 {
				h.buckets[index] = uint64(count)
			}
			index++
		}
	}
	return h, nil
}

// Since returns what was observed after earlier, which must be from the same process.
func (h Histogram) Since(earlier Histogram) Histogram {
	schema := min(h.schema, earlier.schema)
	if earlier.Count == 0 {
		schema = h.schema
	}
	buckets, before := h.coarser(schema), earlier.coarser(schema)
	for index, count := range before {
		buckets[index] -= count
	}
	maps.DeleteFunc(buckets, func(_ int32, count uint64) bool { return count == 0 })
	return Histogram{
		Count: h.Count - earlier.Count, Sum: h.Sum - earlier.Sum,
		schema: schema, zero: h.zero - earlier.zero, buckets: buckets,
	}
}

// coarser returns the buckets at a resolution that is at most that of the histogram. Each step merges pairs of buckets.
func (h Histogram) coarser(schema int32) map[int32]uint64 {
	merged := map[int32]uint64{}
	for index, count := range h.buckets {
		// A shift of a negative number rounds down, as this needs it.
		merged[(index-1)>>(h.schema-schema)+1] += count
	}
	return merged
}

// Mean returns the mean, exact, or 0 without observations.
func (h Histogram) Mean() time.Duration {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / time.Duration(h.Count)
}

// Quantile returns the duration that a share of q of the observations do not exceed, with the error of a bucket's width,
// or 0 without observations. Within a bucket it assumes that the logarithms of the observations are spread evenly.
func (h Histogram) Quantile(q float64) time.Duration {
	if h.Count == 0 {
		return 0
	}
	rank := max(1, math.Ceil(q*float64(h.Count)))
	seen := float64(h.zero)
	if rank <= seen {
		return 0
	}
	exponent := math.Exp2(-float64(h.schema)) // log2 of the factor
	var bound float64
	for _, index := range slices.Sorted(maps.Keys(h.buckets)) {
		count := float64(h.buckets[index])
		bound = float64(index) * exponent
		if seen+count >= rank {
			bound -= exponent * (1 - (rank-seen)/count)
			break
		}
		seen += count
	}
	return time.Duration(math.Exp2(bound) * float64(time.Second))
}

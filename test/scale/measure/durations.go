// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"slices"
	"time"
)

// Durations are single measurements, in any order.
type Durations []time.Duration

// Quantile returns the smallest measurement that a share of q of them do not exceed, or 0 if there is none.
func (d Durations) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	rank := int(math.Ceil(q * float64(len(d))))
	return sorted[min(max(rank, 1), len(d))-1]
}

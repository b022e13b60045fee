// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestQuantileOfDurations(t *testing.T) {
	g := NewWithT(t)
	hundred := Durations{}
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, c := range []struct {
		of   Durations
		q    float64
		want int
	}{
		{Durations{}, 0.5, 0},
		{Durations{7}, 0, 7},
		{Durations{7}, 1, 7},
		{Durations{3, 1, 2}, 0.5, 2},
		{Durations{4, 3, 2, 1}, 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		g.Expect(c.of.Quantile(c.q)).To(Equal(time.Duration(c.want)), "%v of %v", c.q, c.of)
	}
	g.Expect(hundred[0]).To(Equal(time.Duration(100)), "the order is left alone")
}

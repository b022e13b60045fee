// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// chance is a source of random numbers that gives each question about each object its own answer: the same seed, names
// and options give the same run, whatever the order in which objects are looked at.
type chance struct{ seed uint64 }

func (c chance) of(key types.NamespacedName, question string) *rand.Rand {
	hash := fnv.New64a()
	for _, part := range []string{key.Namespace, key.Name, question} {
		_, _ = hash.Write([]byte(part)) // a hash never fails
		_, _ = hash.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(c.seed, hash.Sum64()))
}

// jitter returns a duration between delay*(1-share) and delay*(1+share).
func (c chance) jitter(delay time.Duration, share float64, key types.NamespacedName, question string) time.Duration {
	return time.Duration(float64(delay) * (1 + share*(2*c.of(key, question).Float64()-1)))
}

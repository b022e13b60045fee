// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemoryIsOfOneObject(t *testing.T) {
	var all memories
	key := types.NamespacedName{Namespace: "default", Name: "a"}
	all.of(key, "first").joined = true
	if !all.of(key, "first").joined {
		t.Error("the memory of an object is lost")
	}
	if all.of(key, "second").joined {
		t.Error("another object of the same name has the memory of the first")
	}
	all.of(key, "second").joined = true
	all.forget(key)
	if all.of(key, "second").joined {
		t.Error("a forgotten object is remembered")
	}
}

func TestDelaysBeginOnce(t *testing.T) {
	var m memory
	first := m.remaining("delay", time.Hour)
	if first <= 59*time.Minute || first > time.Hour {
		t.Errorf("an hour has %s remaining at its beginning", first)
	}
	if second := m.remaining("delay", time.Hour); second > first {
		t.Errorf("the delay began again: %s remaining after %s", second, first)
	}
	if other := m.remaining("other", 0); other > 0 {
		t.Errorf("no delay has %s remaining", other)
	}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestJitterStaysInItsShareAndRepeats(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 1000 {
		key := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("machine-%d", i)}
		delay := chance{7}.jitter(time.Second, 0.5, key, "question")
		if delay < 500*time.Millisecond || delay > 1500*time.Millisecond {
			t.Fatalf("delay of %s is %s, expected 0.5s to 1.5s", key, delay)
		}
		if again := (chance{7}).jitter(time.Second, 0.5, key, "question"); again != delay {
			t.Fatalf("delay of %s is %s, and %s when asked again", key, delay, again)
		}
		seen[delay] = true
	}
	if len(seen) < 990 {
		t.Errorf("1000 objects have %d different delays", len(seen))
	}
	key := types.NamespacedName{Name: "machine"}
	if (chance{1}).of(key, "question").Uint64() == (chance{2}).of(key, "question").Uint64() {
		t.Error("two seeds give the same number")
	}
}

func TestPayloadHasItsSize(t *testing.T) {
	for _, size := range []int{-1, 0, 1, 5000, 20_000} {
		content := payload(size, device)
		if size <= 0 {
			if content != nil {
				t.Errorf("payload of size %d is %v, expected none", size, content)
			}
			continue
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if len(encoded) < size || len(encoded) > size+350 {
			t.Errorf("payload of size %d has %d bytes", size, len(encoded))
		}
	}
}

func TestFaultsAreSharedOut(t *testing.T) {
	opts := Options{Faults: map[Fault]float64{NeverJoins: 0.1, Fails: 0.2}}
	count := map[Fault]int{}
	const objects = 10_000
	for i := range objects {
		obj := &metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("machine-%d", i)}
		fault, err := opts.fault(SimMachine, obj)
		if err != nil {
			t.Fatal(err)
		}
		count[fault]++
	}
	for fault, share := range map[Fault]float64{NeverJoins: 0.1, Fails: 0.2, "": 0.7} {
		if got := float64(count[fault]) / objects; math.Abs(got-share) > 0.02 {
			t.Errorf("fault %q has share %v, expected %v", fault, got, share)
		}
	}
	obj := &metav1.ObjectMeta{Annotations: map[string]string{FaultAnnotation: "Typo"}}
	if _, err := opts.fault(SimMachine, obj); err == nil || !strings.Contains(err.Error(), "NeverJoins") {
		t.Errorf("error for an unknown fault is %v, expected a list of the known ones", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for expected, opts := range map[string]Options{
		"Workers is -1":        {Workers: -1},
		"Jitter is 2":          {Jitter: 2},
		"NodeDelay is -1s":     {NodeDelay: -time.Second},
		"Faults has \"Typo\"":  {Faults: map[Fault]float64{"Typo": 0.1}},
		"add up to 1.2":        {Faults: map[Fault]float64{Fails: 0.6, NeverJoins: 0.6}},
		"share of fault Fails": {Faults: map[Fault]float64{Fails: -1}},
	} {
		if _, err := opts.complete(); err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("error is %v, expected one with %q", err, expected)
		}
	}
}

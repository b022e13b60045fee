// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// loadInterval is the time between two admission requests of the load.
	loadInterval = 20 * time.Millisecond
	// loadTimeout is how long a user waits for an answer; a webhook has ten seconds.
	loadTimeout = 15 * time.Second
	// minLoad is how many requests make a load.
	minLoad = 50

	loadAnnotation = "e2e.machinist.dev/load"
)

// load is a user who changes a Machine all the time, so that webhooks are asked all the time.
type load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	requests atomic.Int64
	// failures counts by error.
	failures map[string]int
}

// startLoad starts one that ends with the spec at the latest.
func startLoad(f *fleet, machine string) *load {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, failures: map[string]int{}}
	l.ended.Go(func() { l.run(ctx, f, machine) })
	DeferCleanup(func() {
		cancel()
		l.ended.Wait()
	})
	return l
}

func (l *load) run(ctx context.Context, f *fleet, machine string) {
	ticker := time.NewTicker(loadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		l.requests.Add(1)
		if err := l.request(ctx, f, machine); err != nil && ctx.Err() == nil {
			l.failures[err.Error()]++
		}
	}
}

func (l *load) request(ctx context.Context, f *fleet, machine string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	return f.annotate(ctx, machine, loadAnnotation, fmt.Sprint(l.requests.Load()))
}

// expectNoFailure ends the load and looks at what became of it.
func (l *load) expectNoFailure() {
	GinkgoHelper()
	l.cancel()
	l.ended.Wait()
	requests := l.requests.Load()
	AddReportEntry("admission requests", requests)
	Expect(maps.Clone(l.failures)).To(BeEmpty(), "of %d requests", requests)
	Expect(requests).To(BeNumerically(">", minLoad), "this was no load")
}

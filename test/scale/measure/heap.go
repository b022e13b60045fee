// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// heapTimeout bounds one reading of the heap: a collection of some gigabytes takes seconds on busy CPUs.
const heapTimeout = 2 * time.Minute

// LiveHeap makes a process collect its garbage and returns the bytes in what is left. profiler is the address of its
// net/http/pprof, host:port.
func LiveHeap(ctx context.Context, profiler string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, heapTimeout)
	defer cancel()
	url := "http://" + profiler + "/debug/pprof/heap?debug=1&gc=1"
	var live int64
	// The first collection only moves the contents of sync.Pools to where the second one finds them.
	for range 2 {
		body, err := get(ctx, url, "text/plain")
		if err != nil {
			return 0, fmt.Errorf("reading the heap profile at %s: %w", url, err)
		}
		live, err = parseHeapAlloc(body)
		_ = body.Close() // only read
		if err != nil {
			return 0, fmt.Errorf("reading the heap profile at %s: %w", url, err)
		}
	}
	return live, nil
}

// parseHeapAlloc finds runtime.MemStats.HeapAlloc in a heap profile of the text form, which ends with those statistics.
func parseHeapAlloc(profile io.Reader) (int64, error) {
	const prefix = "# HeapAlloc = "
	lines := bufio.NewScanner(profile)
	lines.Buffer(nil, 1<<20) // stacks of generic functions make long lines
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), prefix); found {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("expected a line %q, found none", prefix+"<bytes>")
}

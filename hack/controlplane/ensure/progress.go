// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressInterval is how often a long step says that it is alive.
const progressInterval = 15 * time.Second

// reporter writes lines for the person who waits.
type reporter struct {
	out io.Writer
}

func (r reporter) say(format string, args ...any) {
	// Progress that can't be written is no reason to stop.
	_, _ = fmt.Fprintf(r.out, "control plane: "+format+"\n", args...)
}

// every calls f at each interval until the function that it returns is called. That function waits for a running f.
func (reporter) every(interval time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				f()
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

func elapsed(since time.Time) time.Duration {
	return time.Since(since).Round(time.Second)
}

// complaintLines is how many lines of a failed build are shown.
const complaintLines = 30

// buildOutput reads the output of `go build -v` as it is written: a line per package, and lines of other kinds.
type buildOutput struct {
	mutex     sync.Mutex
	rest      []byte // the start of a line whose end has not been written yet
	compiled  int
	latest    string
	otherwise []string
}

// Write takes in output. It never fails.
func (o *buildOutput) Write(data []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.rest = append(o.rest, data...)
	for {
		line, rest, found := bytes.Cut(o.rest, []byte("\n"))
		if !found {
			return len(data), nil
		}
		o.take(string(line))
		o.rest = rest
	}
}

// take tells a package path, which has no space, from everything else that the go command says.
func (o *buildOutput) take(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		o.latest = strings.TrimPrefix(line, "go: ")
	case line == "" || strings.ContainsAny(line, " \t:"):
		o.otherwise = append(o.otherwise, line)
	default:
		o.compiled++
		o.latest = line
	}
}

// progress says how far the build is.
func (o *buildOutput) progress() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.latest == "" {
		return "linking, or reading modules"
	}
	return fmt.Sprintf("%d packages compiled, latest %s", o.compiled, o.latest)
}

// complaints returns the end of what was not progress.
func (o *buildOutput) complaints() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	lines := append(o.otherwise, string(o.rest))
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-complaintLines):], "\n"))
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// logCounter counts what a manager with the default verbosity would log.
type logCounter struct{ lines atomic.Int64 }

// countingSink is a logr.LogSink that counts what passes.
type countingSink struct {
	logr.LogSink
	counter *logCounter
}

func (s countingSink) Info(level int, message string, keysAndValues ...any) {
	if level == 0 {
		s.counter.lines.Add(1)
	}
	s.LogSink.Info(level, message, keysAndValues...)
}

func (s countingSink) Error(err error, message string, keysAndValues ...any) {
	s.counter.lines.Add(1)
	s.LogSink.Error(err, message, keysAndValues...)
}

func (s countingSink) WithValues(keysAndValues ...any) logr.LogSink {
	return countingSink{LogSink: s.LogSink.WithValues(keysAndValues...), counter: s.counter}
}

func (s countingSink) WithName(name string) logr.LogSink {
	return countingSink{LogSink: s.LogSink.WithName(name), counter: s.counter}
}

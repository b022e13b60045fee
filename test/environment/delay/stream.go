// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package delay

import (
	"context"
	"io"
	"sync"
	"time"
)

// stream is the body of the response to a watch. What arrives is handed on in order, each piece when it is old enough. It
// does not matter where a piece begins and ends: a client waits for the rest of an event.
type stream struct {
	source   io.ReadCloser
	resource string
	// gone is closed when the client has gone away.
	gone   <-chan struct{}
	closed func()
	// changed has room for one signal: something has arrived, or another field has changed.
	changed chan struct{}

	mu    sync.Mutex
	held  []piece
	delay time.Duration
	ended bool
}

// piece is what one read of the source has brought.
type piece struct {
	arrived time.Time
	data    []byte
	err     error // the end, if not nil; then there is no data
}

func newStream(source io.ReadCloser, resource string, delay time.Duration, gone <-chan struct{}) *stream {
	return &stream{source: source, resource: resource, delay: delay, gone: gone, changed: make(chan struct{}, 1)}
}

// fill takes in what arrives, without bounds: an API server gives up on a client that doesn't keep up.
func (s *stream) fill() {
	for {
		buffer := make([]byte, 4<<10)
		n, err := s.source.Read(buffer)
		if n > 0 {
			s.add(piece{arrived: time.Now(), data: buffer[:n]})
		}
		if err != nil {
			s.add(piece{arrived: time.Now(), err: err})
			return
		}
	}
}

func (s *stream) add(p piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, p)
	s.signal()
}

func (s *stream) setDelay(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = delay
	s.signal()
}

// end makes the client see the end of the stream; what is held back is lost.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.signal()
}

func (s *stream) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Read implements io.Reader for one caller.
func (s *stream) Read(p []byte) (int, error) {
	for {
		n, wait, err := s.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.changed:
			timer.Stop()
		case <-s.gone:
			timer.Stop()
			return 0, context.Canceled
		}
	}
}

// forever is the wait for something to change.
const forever = time.Hour

// take returns what is due, or else how long there will be nothing.
func (s *stream) take(p []byte) (n int, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, 0, io.EOF
	}
	if len(s.held) == 0 {
		return 0, forever, nil
	}
	first := &s.held[0]
	if wait := s.delay - time.Since(first.arrived); wait > 0 {
		return 0, wait, nil
	}
	if first.err != nil {
		return 0, 0, first.err
	}
	n = copy(p, first.data)
	if first.data = first.data[n:]; len(first.data) == 0 {
		s.held = s.held[1:]
	}
	return n, 0, nil
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.closed()
	return s.source.Close()
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// settleTimeout bounds the wait for requests that the API server was still answering when Requests was called.
	settleTimeout = 10 * time.Second
	// settleInterval is how often the log is read meanwhile.
	settleInterval = 20 * time.Millisecond
)

// Request is a request as the API server understood it.
type Request struct {
	// Time is when the API server received the request.
	Time time.Time
	// Verb is the API verb: get, list, watch, create, update, patch, delete or deletecollection; for a request outside the
	// API (discovery, say) it is the HTTP method in lower case.
	Verb string
	// Group, Version, Resource and Subresource say what was asked for. All are empty for a request outside the API. The
	// core group is empty.
	Group, Version, Resource, Subresource string
	// Namespace and Name are empty where the request names none.
	Namespace, Name string
	// URI is the path and the query.
	URI string
	// User is the authenticated user, UserAgent what the client calls itself.
	User, UserAgent string
	// Code is the HTTP status of the response; 0 for a watch that has not been answered yet.
	Code int
}

// String returns the verb and the resource, as in "patch machines/status", or the verb and the path.
func (r Request) String() string {
	switch {
	case r.Resource == "":
		path, _, _ := strings.Cut(r.URI, "?")
		return r.Verb + " " + path
	case r.Subresource == "":
		return r.Verb + " " + r.Resource
	default:
		return r.Verb + " " + r.Resource + "/" + r.Subresource
	}
}

// Requests are requests in the order in which the API server received them.
type Requests []Request

// Where returns the requests for which match is true.
func (r Requests) Where(match func(Request) bool) Requests {
	var matching Requests
	for _, request := range r {
		if match(request) {
			matching = append(matching, request)
		}
	}
	return matching
}

// From returns the requests of clients whose user agent starts with prefix.
func (r Requests) From(prefix string) Requests {
	return r.Where(func(request Request) bool { return strings.HasPrefix(request.UserAgent, prefix) })
}

// Counts returns the number of requests by Request.String: {"get secrets": 1, "patch machines/status": 2}. A matcher that
// fails on it shows everything that was asked for.
func (r Requests) Counts() map[string]int {
	counts := map[string]int{}
	for _, request := range r {
		counts[request.String()]++
	}
	return counts
}

// Requests returns every request that the API server has received since the environment started, but for those of the API
// server itself and probes of its health. It waits until those that were being answered when it was called have their
// Code, watches excepted. A request whose response a client has seen is always included.
//
// The order never changes, so what happened after an earlier call is what follows the requests which that call returned.
// It is an error to call it for an environment without CountRequests.
func (e *Environment) Requests(ctx context.Context) (Requests, error) {
	if e.requests == nil {
		return nil, errors.New("requests of this environment are not counted: set Options.CountRequests")
	}
	return e.requests.settled(ctx)
}

// auditEvent is what we read of an entry of the audit log (audit.k8s.io/v1, kind Event).
type auditEvent struct {
	AuditID    string    `json:"auditID"`
	Stage      string    `json:"stage"`
	RequestURI string    `json:"requestURI"`
	Verb       string    `json:"verb"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// The stages of the last entry of a request. Those before are RequestReceived, which is written before the request is
// handled, and ResponseStarted, which a watch stays in.
const (
	stageComplete = "ResponseComplete"
	stagePanic    = "Panic"
)

func (e *auditEvent) request() Request {
	return Request{
		Time:        e.Received,
		Verb:        e.Verb,
		Group:       e.ObjectRef.APIGroup,
		Version:     e.ObjectRef.APIVersion,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		URI:         e.RequestURI,
		User:        e.User.Username,
		UserAgent:   e.UserAgent,
	}
}

// requestLog reads an audit log that is still being written. Each entry is read once.
type requestLog struct {
	path string

	mutex    sync.Mutex
	offset   int64          // how far the log has been read: always the start of a line
	requests Requests       // in the order of their entries
	running  map[string]int // audit ID to the index in requests, for those whose last entry has not been seen
}

func newRequestLog(path string) *requestLog {
	return &requestLog{path: path, running: map[string]int{}}
}

// settled implements Environment.Requests. Its time begins when the log has been read: what has been written since the last call
// may be a lot.
func (l *requestLog) settled(ctx context.Context) (Requests, error) {
	requests, err := l.read()
	if err != nil {
		return nil, err
	}
	received := len(requests)
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		pending := requests[:received].Where(func(r Request) bool { return r.Code == 0 && r.Verb != "watch" })
		if len(pending) == 0 {
			return requests, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the API server to answer %d requests, the first of them %q by %s: %w",
				len(pending), pending[0], pending[0].UserAgent, ctx.Err())
		}
		if requests, err = l.read(); err != nil {
			return nil, err
		}
	}
}

// read takes in what has been appended to the log, and returns a copy of all requests.
func (l *requestLog) read() (Requests, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log from byte %d: %w", l.offset, err)
	}
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// What follows the last newline is being written: the next call reads it whole.
			return append(Requests{}, l.requests...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log from byte %d: %w", l.offset, err)
		}
		if err := l.take(bytes.TrimSpace(line)); err != nil {
			return nil, err
		}
		l.offset += int64(len(line))
	}
}

// take takes in one entry.
func (l *requestLog) take(line []byte) error {
	var event auditEvent
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("parsing the entry at byte %d of the audit log: %w", l.offset, err)
	}
	index, known := l.running[event.AuditID]
	if !known {
		// The entry of a received request, or the only entry of a request that failed to authenticate.
		index = len(l.requests)
		l.running[event.AuditID] = index
		l.requests = append(l.requests, event.request())
	}
	l.requests[index].Code = event.ResponseStatus.Code
	if event.Stage == stageComplete || event.Stage == stagePanic {
		delete(l.running, event.AuditID)
	}
	return nil
}

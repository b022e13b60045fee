// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// apiServer answers after some time, or when the request is given up.
type apiServer struct {
	after time.Duration
	got   int
}

func (s *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.got++
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// ask sends a request, reads the answer, and returns how long it has taken.
func ask(ctx context.Context, transport http.RoundTripper, url string) (time.Duration, error) {
	started := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err == nil {
		err = response.Body.Close()
	}
	return time.Since(started), err
}

const nodesURL = "https://cluster/api/v1/nodes/a"

func TestGateLetsSlowRequestsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate()
		transport := gate.wrap(&apiServer{after: 10 * time.Second})
		go func() {
			<-gate.suspected
			gate.probed(nil)
		}()
		took, err := ask(t.Context(), transport, nodesURL)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(took).To(Equal(10 * time.Second))
		g.Expect(gate.passed).To(BeEmpty())
	})
}

func TestGateGivesUpWhenAProbeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate()
		server := &apiServer{after: time.Hour}
		transport := gate.wrap(server)
		go func() {
			<-gate.suspected
			gate.probed(errors.New("no answer"))
		}()
		took, err := ask(t.Context(), transport, nodesURL)
		g.Expect(err).To(MatchError(ErrNotConnected))
		g.Expect(took).To(Equal(patience))

		// Further requests are not sent, but probes and watches are.
		took, err = ask(t.Context(), transport, nodesURL)
		g.Expect(err).To(MatchError(ErrNotConnected))
		g.Expect(took).To(BeZero())
		g.Expect(server.got).To(Equal(1))
		server.after = 0
		_, err = ask(context.WithValue(t.Context(), probing{}, true), transport, nodesURL)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = ask(t.Context(), transport, "https://cluster/api/v1/nodes?watch=true")
		g.Expect(err).NotTo(HaveOccurred())

		gate.probed(nil)
		_, err = ask(t.Context(), transport, nodesURL)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(gate.passed).To(BeEmpty())
	})
}

func TestGateLeavesOtherErrorsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err := ask(ctx, gate.wrap(&apiServer{after: time.Hour}), nodesURL)
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
		g.Expect(err).NotTo(MatchError(ErrNotConnected))
		g.Expect(gate.passed).To(BeEmpty())
		g.Expect(gate.suspected).To(BeEmpty())
	})
}

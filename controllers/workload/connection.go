// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Health is what the probes of a workload cluster have seen.
type Health struct {
	// LastSuccess is the time of the last probe that succeeded; zero if there was none.
	LastSuccess time.Time
	// Failures is the number of failures since then, of probes and of attempts to connect.
	Failures int
}

// connection keeps one workload cluster connected. Its goroutine (run) is the only writer of state.
type connection struct {
	clusters *Clusters
	cluster  types.NamespacedName
	uid      types.UID
	cancel   context.CancelFunc
	state    atomic.Pointer[connectionState]
	// kubeconfig is the digest of the one that was read last. It is used by the goroutine of run only.
	kubeconfig digest
}

// connectionState is published whole and never changed.
type connectionState struct {
	session *session // nil while not connected
	health  Health
	err     error // why not connected
}

// What ends a session at once.
var (
	errUnauthorized      = errors.New("the workload cluster does not accept the credentials of the kubeconfig")
	errCacheStopped      = errors.New("the cache of Nodes has stopped")
	errKubeconfigChanged = errors.New("the kubeconfig has changed, and what it said before does not work any more")
)

// steadyAfter is how long a connection must have lasted to be made again at once. What is lost sooner may be lost again.
const steadyAfter = 30 * time.Second

// run connects, probes until the connection is lost, and connects again, until the context ends.
func (c *connection) run(ctx context.Context) {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("cluster", c.cluster.String()))
	backoff := newBackoff()
	for ctx.Err() == nil {
		if !c.clusters.exists(ctx, c.cluster, c.uid) {
			// Deleted while a reconcile that had read it before asked for the connection.
			c.clusters.drop(c.cluster, c.uid)
			return
		}
		session, err := c.connect(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			c.failed(ctx, err)
			pause(ctx, backoff.Step())
			continue
		}
		connected := time.Now()
		log.FromContext(ctx).Info("Connected to workload cluster", "host", session.host)
		c.publish(&connectionState{session: session, health: Health{LastSuccess: time.Now()}})
		c.wakeMachines(ctx)
		err = c.probeUntilLost(ctx, session)
		if ctx.Err() != nil {
			session.stop()
			return
		}
		log.FromContext(ctx).Info("Lost the connection to workload cluster", "err", err.Error())
		c.publish(&connectionState{health: c.state.Load().health, err: err})
		c.wakeMachines(ctx)
		go session.stop() // client-go's reflector may be asleep for as long as a minute while nobody answers
		if time.Since(connected) < steadyAfter {
			pause(ctx, backoff.Step())
			continue
		}
		backoff = newBackoff()
	}
}

// volatile are the parts of error texts that differ at each attempt: the local port of a connection, and the time.
var volatile = regexp.MustCompile(`\S+->|: current time \S+`)

// StableText is the text of an error without what differs at each attempt. It ends up in conditions, where each change
// is a write for every Machine of the Cluster.
func StableText(err error) string {
	return volatile.ReplaceAllString(err.Error(), "")
}

// stable is an error with the stable text of another, of which nothing else is known any more but whether it wraps
// ErrNoKubeconfig.
func stable(err error) error {
	text := errors.New(StableText(err))
	if errors.Is(err, ErrNoKubeconfig) {
		return noKubeconfigError{text}
	}
	return text
}

// newBackoff is quick at first, as a kubeconfig usually appears seconds after its Cluster, and ends at 30 s.
func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 1.6, Jitter: 0.1, Steps: 20, Cap: 30 * time.Second}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// failed counts an attempt to connect that failed. Machines are woken when they would say something else than before.
func (c *connection) failed(ctx context.Context, err error) {
	before := c.state.Load()
	health := before.health
	health.Failures++
	err = stable(err)
	c.publish(&connectionState{health: health, err: err})
	if before.err == nil || before.err.Error() != err.Error() || health.Failures == ProbeFailures {
		log.FromContext(ctx).Info("Can't connect to workload cluster", "err", err.Error(), "failures", health.Failures)
		c.wakeMachines(ctx)
	}
}

func (c *connection) publish(state *connectionState) { c.state.Store(state) }

func (c *connection) wakeMachines(ctx context.Context) {
	c.clusters.enqueue(c.clusters.options.Referrers.OfCluster(ctx, c.cluster))
}

// probeUntilLost returns why the session must be given up, or the context's error.
func (c *connection) probeUntilLost(ctx context.Context, session *session) error {
	timing := c.clusters.options.Timing
	ticker := time.NewTicker(timing.interval())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-session.ended:
			return errCacheStopped
		case err := <-session.refused:
			return refusal(err)
		case <-session.gate.suspected:
		case <-ticker.C:
		}
		err := session.probe(ctx, timing.timeout())
		session.gate.probed(err)
		health := c.state.Load().health
		if err == nil {
			c.publish(&connectionState{session: session, health: Health{LastSuccess: time.Now()}})
			if health.Failures > 0 {
				c.wakeMachines(ctx) // what was refused by the gate can be done now
			}
			continue
		}
		health.Failures++
		c.publish(&connectionState{session: session, health: health})
		if errors.Is(err, errUnauthorized) || health.Failures >= ProbeFailures {
			return err
		}
		if c.kubeconfigChanged(ctx, timing.timeout()) {
			return errKubeconfigChanged
		}
	}
}

// probe asks the root path of the API server.
func (s *session) probe(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, probing{}, true), timeout)
	defer cancel()
	err := s.root.Get().AbsPath("/").Do(ctx).Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusUnauthorized {
		return errUnauthorized
	}
	if errors.As(err, &status) && status.Status().Code != 0 && status.Status().Code < http.StatusInternalServerError {
		return nil // it answers: that the path isn't served or isn't allowed says nothing about the connection
	}
	return err
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// fieldOwner is who wrote the Secret and the bundles, in managed fields.
const fieldOwner = "machinist-webhook-certificates"

const (
	// lookTimeout bounds one look.
	lookTimeout = 30 * time.Second
	// looksInARow is how often is looked again at once when somebody else was faster.
	looksInARow = 5
	// retryInterval is the time between two looks while they fail.
	retryInterval = time.Second
)

// Timing says how long things last. Zero values are the defaults; others are for tests.
type Timing struct {
	// AuthorityLifetime is from issue to expiry, DefaultAuthorityLifetime if zero.
	AuthorityLifetime time.Duration
	// ServingLifetime is from issue to expiry, DefaultServingLifetime if zero; at most half of AuthorityLifetime.
	ServingLifetime time.Duration
	// Interval is the time between two looks, 10 s if zero. Each replica takes it up to a fifth longer.
	Interval time.Duration
	// Propagation is how long it takes at most until all API servers have heard of a bundle, 1 min if zero.
	Propagation time.Duration
}

func (t Timing) complete() Timing {
	for field, otherwise := range map[*time.Duration]time.Duration{
		&t.AuthorityLifetime: DefaultAuthorityLifetime, &t.ServingLifetime: DefaultServingLifetime,
		&t.Interval: 10 * time.Second, &t.Propagation: time.Minute,
	} {
		if *field == 0 {
			*field = otherwise
		}
	}
	return t
}

// Options configure a Keeper. All fields but Timing are required.
type Options struct {
	// Config is how the API server is reached.
	Config *rest.Config
	// Service is what the API server calls. The certificate is for its name, <name>.<namespace>.svc.
	Service types.NamespacedName
	// Secret holds the certificates. It is created if it is missing and that is allowed; otherwise an empty one must be there.
	Secret types.NamespacedName
	// Targets are told the bundle wherever they name the Service. One that doesn't exist is skipped.
	Targets []Target
	Timing  Timing
}

// Keeper keeps one replica's certificate; see the package comment. It is safe for concurrent use.
type Keeper struct {
	options Options
	policy  policy
	client  client.Client

	// remembered and those below are used by Run only.
	remembered content
	version    string // of the Secret that holds it
	trust      trust
	injected   memory

	mu       sync.RWMutex
	serving  content // what GetCertificate and the metrics tell
	told     bool    // all targets have held the bundle once
	err      error   // of the last look
	failures int
}

// New returns a Keeper, which has nothing to serve before Run.
func New(o Options) (*Keeper, error) {
	o.Timing = o.Timing.complete()
	if o.Timing.ServingLifetime > o.Timing.AuthorityLifetime/2 {
		return nil, fmt.Errorf("a serving certificate must live half as long as its authority, %s, at most; found %s", o.Timing.AuthorityLifetime, o.Timing.ServingLifetime)
	}
	for what, key := range map[string]types.NamespacedName{"Service": o.Service, "Secret": o.Secret} {
		if key.Namespace == "" || key.Name == "" {
			return nil, fmt.Errorf("expected namespace and name of the webhooks' %s, found %q", what, key)
		}
	}
	live, err := client.New(o.Config, client.Options{}) // Secrets are never cached
	if err != nil {
		return nil, fmt.Errorf("building the client of the webhooks' certificates: %w", err)
	}
	return &Keeper{
		options: o,
		policy: policy{
			dnsName:           o.Service.Name + "." + o.Service.Namespace + ".svc",
			authorityLifetime: o.Timing.AuthorityLifetime,
			servingLifetime:   o.Timing.ServingLifetime,
		},
		client: client.WithFieldOwner(live, fieldOwner),
	}, nil
}

// Run looks after the certificate until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	logger := log.FromContext(ctx).WithName("webhook-certificates").WithValues("secret", k.options.Secret)
	ctx = log.IntoContext(ctx, logger)
	said := ""
	for ctx.Err() == nil {
		err := k.look(ctx)
		pause := wait.Jitter(k.options.Timing.Interval, 0.2)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() != nil:
			return
		default:
			pause = min(pause, retryInterval)
			if text := err.Error(); text != said {
				logger.Error(err, "Can't look after the webhooks' certificates")
				said = text
			}
		}
		k.looked(err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// errLost says that another replica, or somebody else, was faster.
var errLost = errors.New("what was read has been written by somebody else meanwhile")

// look reads the Secret, renews what is due, serves what came out, and tells the targets. The certificate is served before
// the targets are told: unless this is the first one, they trust it already.
func (k *Keeper) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var err error
	for range looksInARow {
		if err = k.lookOnce(ctx); !errors.Is(err, errLost) {
			return err
		}
	}
	return err
}

func (k *Keeper) lookOnce(ctx context.Context) error {
	current, err := k.renew(ctx)
	if err != nil {
		return err
	}
	k.remembered = current
	k.serve(current)
	return k.tell(ctx, current)
}

// renew returns the content of the Secret after it has renewed what was due.
func (k *Keeper) renew(ctx context.Context) (content, error) {
	logger := log.FromContext(ctx)
	secret := &corev1.Secret{}
	err := k.client.Get(ctx, k.options.Secret, secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return content{}, fmt.Errorf("reading Secret %s: %w", k.options.Secret, err)
	}
	present, err := parse(secret.Data)
	if err != nil {
		logger.Info("The Secret has no authority that could be used: making a new one", "reason", err.Error())
		present = k.remembered
		present.signer = nil
	}
	present, refusal := present.asked(secret.Annotations)
	following, changes, err := k.policy.step(present, k.trust, time.Now(), k.options.Timing.Propagation)
	if err != nil {
		return content{}, err
	}
	if annotated := annotate(secret, following.retiring, refusal); annotated || len(changes) > 0 {
		if err := k.write(ctx, secret, missing, following); err != nil {
			return content{}, err
		}
	}
	k.version = secret.ResourceVersion
	if refusal != nil {
		logger.Error(refusal, "Took off a request to retire authorities")
	}
	if len(changes) > 0 {
		logger.Info("Changed the webhooks' certificates", "changes", changes, "authorities", len(following.authorities), "retiring", present.retiring,
			"authorityExpires", following.authorities[0].NotAfter, "servingExpires", following.serving.Leaf.NotAfter)
	}
	return following, nil
}

// write replaces the content of the Secret, unless somebody has changed it since it was read.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, missing bool, following content) error {
	data, err := following.data()
	if err != nil {
		return err
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
	verb := "writing"
	if missing {
		verb = "creating"
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: k.options.Secret.Namespace, Name: k.options.Secret.Name, Annotations: secret.Annotations}
		err = k.client.Create(ctx, secret)
	} else {
		err = k.client.Update(ctx, secret)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return errLost
	case missing && apierrors.IsForbidden(err):
		return fmt.Errorf("there is no Secret %s: create it without content: %w", k.options.Secret, err)
	case err != nil:
		return fmt.Errorf("%s Secret %s: %w", verb, k.options.Secret, err)
	}
	return nil
}

func (k *Keeper) serve(current content) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.serving = current
}

// upToDate returns errLost if the Secret has changed since it was read. Before a target is written that is asked once more,
// after the target was read: who comes late with an authority that was retired meanwhile finds either the Secret or the
// target changed.
func (k *Keeper) upToDate(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := k.client.Get(ctx, k.options.Secret, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s: %w", k.options.Secret, err)
	}
	if secret.ResourceVersion != k.version {
		return errLost
	}
	return nil
}

// tell brings the bundle to all targets.
func (k *Keeper) tell(ctx context.Context, current content) error {
	bundle := current.bundle()
	var errs []error
	changed := false
	for _, target := range k.options.Targets {
		wrote, err := k.inject(ctx, target, bundle)
		changed = changed || wrote
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		k.trust.lost()
		return err
	}
	k.trust.held(current, changed, time.Now())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = true
	return nil
}

// looked remembers how a look went.
func (k *Keeper) looked(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	if err != nil {
		k.failures++
	}
}

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.serving.serving == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return k.serving.serving, nil
}

// Ready is a healthz.Checker. It fails until there is a certificate and the API server has been told to trust it, and again
// when that has expired. What goes wrong later does not matter before that: a server that answers is better than none.
func (k *Keeper) Ready(*http.Request) error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	switch {
	case k.serving.serving == nil:
		return errors.Join(errors.New("the webhooks have no certificate yet"), k.err)
	case !k.told:
		return errors.Join(errors.New("the API server has not been told yet to trust the webhooks' certificate"), k.err)
	case time.Now().After(k.serving.serving.Leaf.NotAfter):
		return errors.Join(fmt.Errorf("the webhooks' certificate expired at %s", k.serving.serving.Leaf.NotAfter), k.err)
	}
	return nil
}

// trust is since when all targets have held a bundle, and the Secret the serving certificate with it.
type trust struct {
	known []byte
	since time.Time
}

// held is to be told of each look that has found all targets with the bundle, after some of them were changed, or not.
func (t *trust) held(current content, changed bool, now time.Time) {
	if known := current.known(); changed || !bytes.Equal(t.known, known) {
		t.known, t.since = known, now
	}
}

// lost is to be told when it isn't known what the targets hold.
func (t *trust) lost() { t.known = nil }

// lasts reports whether that has been so for so long that everybody has heard of it.
func (t *trust) lasts(current content, now time.Time, propagation time.Duration) bool {
	return len(t.known) > 0 && bytes.Equal(t.known, current.known()) && now.Sub(t.since) >= propagation
}

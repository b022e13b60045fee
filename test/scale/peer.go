// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/machinist-dev/machinist/test/scale/measure"
)

const (
	// peerModule is the module of the peer, peerPackage its main package. peer/go.mod says which release.
	peerModule  = "sigs.k8s.io/cluster-api"
	peerPackage = peerModule + "/core"
	// peerName is the name of the peer's binary, with which its user agent starts.
	peerName = "cluster-api-core"
)

// clusterAPI returns Cluster API's core manager, as it was released.
func clusterAPI(ctx context.Context, options options, scratch string) (subject, error) {
	module := filepath.Join(options.root, "test", "scale", "peer")
	version, err := output(exec.CommandContext(ctx, "go", "-C", module, "list", "-m", "-f", "{{.Version}}", peerModule))
	if err != nil {
		return subject{}, fmt.Errorf("finding the release of the peer: %w", err)
	}
	binary := options.peerBinary
	if binary == "" {
		if binary, err = buildPeer(ctx, module, version); err != nil {
			return subject{}, err
		}
	}
	// After the build, which has downloaded the module.
	source, err := output(exec.CommandContext(ctx, "go", "-C", module, "list", "-m", "-f", "{{.Dir}}", peerModule))
	if err != nil {
		return subject{}, fmt.Errorf("finding the CustomResourceDefinitions of the peer: %w", err)
	}
	certificates, err := makeCertificate(scratch)
	if err != nil {
		return subject{}, err
	}
	return subject{
		name:      "Cluster API",
		version:   version,
		binary:    binary,
		crds:      filepath.Join(source, "core", "config", "crd", "bases"),
		userAgent: filepath.Base(binary) + "/",
		// Its workers also turn to a Machine to find that a second has not passed since they last did. It has metrics that
		// leave those turns out.
		reconciles:           measure.ReconcileMetrics{Controller: "machine", Total: "capi_reconcile_total", Time: "capi_reconcile_time_seconds"},
		turns:                controllerRuntimeMetrics,
		ownClusterController: true,
		flags: func(serves addresses) []string {
			return []string{
				"--webhook-port=" + strconv.Itoa(int(serves.webhooks.Port())),
				"--webhook-cert-dir=" + certificates,
				// There is nothing to migrate, and it would list every object to find that out.
				"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
			}
		},
	}, nil
}

// buildPeer builds the peer into the cache folder. Where it is up to date there, that takes a second.
func buildPeer(ctx context.Context, module, version string) (string, error) {
	cache := os.Getenv("MACHINIST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the user's cache folder: %w: set MACHINIST_CACHE to a folder", err)
		}
		cache = filepath.Join(user, "machinist")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("resolving the cache folder: %w", err)
	}
	binary := filepath.Join(cache, "peer", version, peerName)
	say("building %s %s from its module, which takes minutes the first time", peerPackage, version)
	stamp := "-X " + peerModule + "/version.gitVersion=" + version
	command := exec.CommandContext(ctx, "go", "-C", module, "build", "-trimpath", "-ldflags", stamp, "-o", binary, peerPackage)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := output(command); err != nil {
		return "", fmt.Errorf("building the peer: %w", err)
	}
	return binary, nil
}

// makeCertificate makes a certificate for the peer's webhook server, without which the peer does not start. Nobody
// calls that server.
func makeCertificate(scratch string) (dir string, err error) {
	dir = filepath.Join(scratch, "webhook")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: certificate},
		"tls.key": {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return "", fmt.Errorf("making a certificate: %w", err)
		}
	}
	return dir, nil
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Certmanager runs the part of cert-manager that issues certificates from self-signed issuers and certificate authorities,
// renews them, and tells the API server by which authority to know webhooks. It is cert-manager's own code, of the release
// that go.mod names, and works on the cluster of KUBECONFIG, where its CustomResourceDefinitions have to be. cert-manager's
// own webhook is not part of it, so that nothing checks or completes a Certificate but its schema.
//
// It ends when its standard input does, so that a program that holds the other end of a pipe is never outlived by it.
//
// It is a module of its own because the manager needs none of this.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// workers is how many objects each controller works on at a time.
	workers = 2
	// queriesPerSecond bounds them where the API server doesn't.
	queriesPerSecond = 50
	// injector is the field manager of the authorities.
	injector = "cert-manager-cainjector"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end, too
	}()
	ctrl.SetLogger(zap.New())
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "certmanager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if err := startIssuing(ctx, group); err != nil {
		return err
	}
	if err := startInjecting(ctx, group); err != nil {
		return err
	}
	return group.Wait()
}

// startIssuing starts what makes Secrets of Certificates.
func startIssuing(ctx context.Context, group *errgroup.Group) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         os.Getenv(clientcmd.RecommendedConfigPathEnvVar),
		KubernetesAPIQPS:   queriesPerSecond,
		KubernetesAPIBurst: queriesPerSecond,
	})
	if err != nil {
		return err
	}
	for name, construct := range controller.Known() {
		constructed, err := construct(factory)
		if err != nil {
			return fmt.Errorf("making controller %s: %w", name, err)
		}
		group.Go(func() error { return constructed.Run(workers, ctx) })
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}

// startInjecting starts what copies authorities to where the API server reads them.
func startInjecting(ctx context.Context, group *errgroup.Group) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.UserAgent = injector + "/" // what it applies is owned under the name before the slash
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, cmv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		// The Secrets' content is read live, so that only their metadata is kept.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return manager.Start(ctx) })
	return nil
}

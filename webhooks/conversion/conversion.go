// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	clusterv1beta1 "github.com/machinist-dev/machinist/apis/cluster/v1beta1"
	clusterv1 "github.com/machinist-dev/machinist/apis/cluster/v1beta2"
	"github.com/machinist-dev/machinist/apis/contract"
	"github.com/machinist-dev/machinist/apis/contract/accessor"
	"github.com/machinist-dev/machinist/controllers/external"
)

// Path is where the webhook server of the manager answers; config/crd/patches names it.
const Path = "/convert"

// patience is how long a request waits for the first list of CustomResourceDefinitions. The API server gives a
// conversion 30 s.
const patience = 10 * time.Second

// SetupWithManager registers the webhook. It is served by every replica, leader or not.
//
// The manager's scheme is not touched: v1beta1 is known here only, so nothing else can read it by mistake.
func SetupWithManager(mgr ctrl.Manager) error {
	// Started with the manager instead of by the first request, which would have to wait for it.
	_, err := mgr.GetCache().GetInformer(context.Background(), external.CRDMetadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching CustomResourceDefinitions for conversion: %w", err)
	}
	handler, err := NewHandler(mgr.GetCache())
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(Path, handler)
	return nil
}

// NewHandler returns the handler of conversion reviews. It is safe for concurrent use.
//
// The reader is asked for the metadata of CustomResourceDefinitions, as external.CRDMetadata, once for each reference
// that is converted to v1beta1; it should answer from memory.
func NewHandler(crds client.Reader) (http.Handler, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clusterv1.AddToScheme(scheme), clusterv1beta1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme for conversion: %w", err)
	}
	lookup := kinds{crds: crds}
	registry := conversion.NewRegistry()
	for kind, construct := range map[string]func(*runtime.Scheme) (conversion.Converter, error){
		"Machine": conversion.NewHubSpokeConverter(&clusterv1.Machine{},
			conversion.NewSpokeConverter(&clusterv1beta1.Machine{}, lookup.machineFromHub, machineToHub)),
		"Cluster": conversion.NewHubSpokeConverter(&clusterv1.Cluster{},
			conversion.NewSpokeConverter(&clusterv1beta1.Cluster{}, lookup.clusterFromHub, clusterToHub)),
	} {
		converter, err := construct(scheme)
		if err != nil {
			return nil, fmt.Errorf("building the conversion of %s: %w", kind, err)
		}
		if err := registry.RegisterConverter(clusterv1.GroupVersion.WithKind(kind).GroupKind(), converter); err != nil {
			return nil, fmt.Errorf("registering the conversion of %s: %w", kind, err)
		}
	}
	return conversion.NewWebhookHandler(scheme, registry), nil
}

func machineToHub(_ context.Context, in *clusterv1beta1.Machine, out *clusterv1.Machine) error {
	return naming(clusterv1beta1.MachineToHub(in, out), "Machine", in)
}

func clusterToHub(_ context.Context, in *clusterv1beta1.Cluster, out *clusterv1.Cluster) error {
	return naming(clusterv1beta1.ClusterToHub(in, out), "Cluster", in)
}

// kinds looks up the kinds that objects reference.
type kinds struct{ crds client.Reader }

func (k kinds) machineFromHub(ctx context.Context, in *clusterv1.Machine, out *clusterv1beta1.Machine) error {
	return naming(clusterv1beta1.MachineFromHub(in, out, k.versions(ctx)), "Machine", in)
}

func (k kinds) clusterFromHub(ctx context.Context, in *clusterv1.Cluster, out *clusterv1beta1.Cluster) error {
	return naming(clusterv1beta1.ClusterFromHub(in, out, k.versions(ctx)), "Cluster", in)
}

// versions answers from the contract labels. A definition that is missing, or declares no contract, is an answer; one
// that can't be read at the moment is none.
func (k kinds) versions(ctx context.Context) clusterv1beta1.Versions {
	return func(kind schema.GroupKind) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		name, crd := contract.CRDName(kind.Group, kind.Kind), external.CRDMetadata()
		err := k.crds.Get(ctx, client.ObjectKey{Name: name}, crd)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		}
		resolution, err := contract.Resolve(crd.Labels)
		if _, undeclared := errors.AsType[*accessor.NoContractError](err); undeclared {
			return "", nil
		}
		return resolution.APIVersion, err
	}
}

// naming says which of the many objects in a request an error is about.
func naming(err error, kind string, object client.Object) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", kind, client.ObjectKeyFromObject(object), err)
}

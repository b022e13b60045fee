// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Self is the Pod that the manager runs in. A workload cluster that has this Pod is the management cluster itself. Its API
// server is reached as Pods do, and no longer by the load balancer that the address in the kubeconfig mostly is. The
// credentials are those of the kubeconfig all the same.
type Self struct {
	// Pod is empty if the manager doesn't know its Pod, or runs in none.
	Pod types.NamespacedName
	UID types.UID
	// Config is how the Pod reaches the API server of its cluster.
	Config *rest.Config
}

// SelfFromEnvironment knows the Pod if the variables POD_NAMESPACE, POD_NAME and POD_UID tell it.
func SelfFromEnvironment(config *rest.Config) Self {
	return Self{
		Pod:    types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")},
		UID:    types.UID(os.Getenv("POD_UID")),
		Config: config,
	}
}

// preferred returns the configuration to connect with: the given one, or one with the address that Pods use if it leads to
// the cluster of this Pod. The error says that nobody answers at the given one.
func (s Self) preferred(ctx context.Context, config *rest.Config, timeout time.Duration) (*rest.Config, error) {
	if s.Pod.Namespace == "" || s.Pod.Name == "" || s.UID == "" {
		return config, nil
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("building a client of the workload cluster: %w", err)
	}
	defer httpClient.CloseIdleConnections()
	client, err := corev1client.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("building a client of the workload cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pod, err := client.Pods(s.Pod.Namespace).Get(ctx, s.Pod.Name, metav1.GetOptions{})
	var answer apierrors.APIStatus
	switch {
	case errors.As(err, &answer): // mostly that it has no such Pod; whatever else it says is found out by what comes next
		return config, nil
	case err != nil:
		return nil, fmt.Errorf("the API server of the workload cluster does not answer at %s: %w", config.Host, err)
	case pod.UID != s.UID:
		return config, nil
	}
	own := rest.CopyConfig(config)
	own.Host, own.APIPath, own.Proxy = s.Config.Host, s.Config.APIPath, nil
	own.ServerName, own.Insecure = s.Config.ServerName, s.Config.Insecure
	own.CAFile, own.CAData = s.Config.CAFile, s.Config.CAData
	return own, nil
}

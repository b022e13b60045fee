// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// adminName is the user whose access Config holds; envtest provisions it.
	adminName = "admin"
	// kubeconfigName is what people see in `kubectl config get-contexts`.
	kubeconfigName = "machinist-test"
)

// writeKubeconfig writes a file that works from any folder: certificates and key are in it.
func writeKubeconfig(config *rest.Config, path, user string) error {
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			kubeconfigName: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			user: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData},
		},
		Contexts: map[string]*clientcmdapi.Context{
			kubeconfigName: {Cluster: kubeconfigName, AuthInfo: user, Namespace: "default"},
		},
		CurrentContext: kubeconfigName,
	}
	// WriteToFile makes missing folders, and a file that only its owner can read.
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return fmt.Errorf("writing the kubeconfig of the test control plane: %w", err)
	}
	return nil
}

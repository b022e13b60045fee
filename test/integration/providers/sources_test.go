// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	// dataVariable names the folder of provider data, if it is somewhere else than beside the repository.
	dataVariable = "MACHINIST_PROVIDER_DATA"
	dataFolder   = "../../../../shared/data/providers"
	// downloadTimeout bounds the download of the modules, which are a few megabytes and usually there already.
	downloadTimeout = 2 * time.Minute
)

// fromFolder are the providers of the data folder. The reason says why there are none, if the folder is not there; it is
// an error if the environment names one that can't be read.
func fromFolder() (c collection, reason string, err error) {
	folder, named := os.LookupEnv(dataVariable)
	if !named {
		folder = dataFolder
	}
	if _, err := os.Stat(folder); err != nil && !named {
		return c, fmt.Sprintf("the provider data is not beside the repository, and %s does not say where else it is", dataVariable), nil
	}
	c = collection{
		folders: []string{folder, "testdata/folder"},
		crd: func(_ context.Context, d definition) (*apiextensionsv1.CustomResourceDefinition, error) {
			return readCRD(filepath.Join(folder, d.File))
		},
	}
	c.definitions, err = readDefinitions(filepath.Join(folder, "verdicts.yaml"))
	return c, "", err
}

// The modules that hold definitions of providers, and where. They are not required by go.mod: nothing of them is
// compiled.
const (
	clusterAPI     = "sigs.k8s.io/cluster-api@v1.14.2"
	clusterAPITest = "sigs.k8s.io/cluster-api/test@v1.14.2"
)

// crdInModule is a file in a module, in the layout of kubebuilder: bases, and beside them the labels that kustomize adds.
type crdInModule struct{ module, folder, base string }

var crdsInModules = map[string]crdInModule{
	"cluster-api-v1.14/crd_kubeadmconfig.yaml": {clusterAPI, "bootstrap/kubeadm/config/crd", "bootstrap.cluster.x-k8s.io_kubeadmconfigs.yaml"},
	"cluster-api-v1.14/crd_devmachine.yaml":    {clusterAPITest, "infrastructure/docker/config/crd", "infrastructure.cluster.x-k8s.io_devmachines.yaml"},
	"cluster-api-v1.14/crd_dockermachine.yaml": {clusterAPITest, "infrastructure/docker/config/crd", "infrastructure.cluster.x-k8s.io_dockermachines.yaml"},
}

// fromModules are the providers whose definitions are in public modules. The objects are our own.
func fromModules() (c collection, reason string, err error) {
	c = collection{crd: crdFromModule, folders: []string{"testdata/modules"}}
	c.definitions, err = readDefinitions("testdata/modules/verdicts.yaml")
	return c, "", err
}

func crdFromModule(ctx context.Context, d definition) (*apiextensionsv1.CustomResourceDefinition, error) {
	at := crdsInModules[d.File]
	folder, err := moduleFolder(ctx, at.module)
	if err != nil {
		return nil, err
	}
	crd, err := readCRD(filepath.Join(folder, at.folder, "bases", at.base))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(folder, at.folder, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var kustomization struct {
		Labels []struct {
			Pairs map[string]string `json:"pairs"`
		} `json:"labels"`
	}
	if err := yaml.Unmarshal(data, &kustomization); err != nil {
		return nil, fmt.Errorf("kustomization.yaml of %s: %w", at.module, err)
	}
	crd.Labels = map[string]string{}
	for _, labels := range kustomization.Labels {
		maps.Copy(crd.Labels, labels.Pairs)
	}
	return crd, nil
}

// notDownloadedError says that a module could not be had.
type notDownloadedError struct {
	module string
	cause  error
}

func (e *notDownloadedError) Error() string {
	return fmt.Sprintf("module %s can't be downloaded: %v", e.module, e.cause)
}

func (e *notDownloadedError) Unwrap() error { return e.cause }

// moduleFolder downloads a module into the module cache, if it is not there, and returns its folder. The command runs
// outside of this module, so that it changes nothing in go.mod or go.sum.
func moduleFolder(ctx context.Context, module string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	command.Dir = os.TempDir()
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var message bytes.Buffer
	command.Stderr = &message
	out, runErr := command.Output()
	var downloaded struct{ Dir, Error string }
	// What went wrong is in the output as well; there is none if the command could not even start.
	parseErr := json.Unmarshal(out, &downloaded)
	if downloaded.Dir != "" {
		return downloaded.Dir, nil
	}
	return "", &notDownloadedError{module, errors.Join(runErr, parseErr, errors.New(downloaded.Error+message.String()))}
}

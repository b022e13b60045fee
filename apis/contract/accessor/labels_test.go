// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor_test

import (
	"errors"
	"testing"

	"github.com/machinist-dev/machinist/apis/contract/accessor"
)

const prefix = "things.example.com/"

var versions = []string{"v2", "v1"}

func TestResolve(t *testing.T) {
	for name, tc := range map[string]struct {
		labels               map[string]string
		contract, apiVersion string
	}{
		"one version":                                 {map[string]string{prefix + "v1": "v1alpha1"}, "v1", "v1alpha1"},
		"newest contract wins":                        {map[string]string{prefix + "v1": "v1", prefix + "v2": "v1alpha1"}, "v2", "v1alpha1"},
		"an empty label is skipped":                   {map[string]string{prefix + "v1": "v1beta1", prefix + "v2": ""}, "v1", "v1beta1"},
		"highest, not last":                           {map[string]string{prefix + "v1": "v1beta2_v1_v1alpha3_v1beta1"}, "v1", "v1"},
		"numbers are numbers":                         {map[string]string{prefix + "v1": "v1beta9_v1beta10"}, "v1", "v1beta10"},
		"major before minor":                          {map[string]string{prefix + "v1": "v1beta2_v2beta1"}, "v1", "v2beta1"},
		"other strings are lowest":                    {map[string]string{prefix + "v1": "foo_v1alpha1"}, "v1", "v1alpha1"},
		"other strings in reverse order":              {map[string]string{prefix + "v1": "foo_bar_zoo"}, "v1", "bar"},
		"an empty element is no version":              {map[string]string{prefix + "v1": "v1alpha1_"}, "v1", "v1alpha1"},
		"unknown contract versions are not looked at": {map[string]string{prefix + "v3": "v9", prefix + "v1": "v1"}, "v1", "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			contract, apiVersion, err := accessor.Resolve(prefix, versions, tc.labels)
			if contract != tc.contract || apiVersion != tc.apiVersion || err != nil {
				t.Errorf("got %s, %s, %v", contract, apiVersion, err)
			}
		})
	}
}

func TestResolveWithoutContract(t *testing.T) {
	const text = `no contract version is declared: the labels things.example.com/v2 and things.example.com/v1 are missing or empty; ` +
		`set the label of the contract version that the CRD implements to the API versions that implement it, joined by "_"`
	for _, labels := range []map[string]string{
		nil,
		{prefix + "v1": "", prefix + "v2": ""},
		{prefix + "v3": "v1", prefix + "provider": "v1", "v1": "v1"},
	} {
		_, _, err := accessor.Resolve(prefix, versions, labels)
		if _, ok := errors.AsType[*accessor.NoContractError](err); !ok || err.Error() != text {
			t.Errorf("labels %v: got %v", labels, err)
		}
	}
}

func TestContractVersionOf(t *testing.T) {
	labels := map[string]string{
		prefix + "v1": "v1alpha1_v1beta1", prefix + "v2": "v1beta1", prefix + "provider": "v9", prefix + "v3": "v8",
	}
	for _, tc := range []struct {
		apiVersion, want string
		found            bool
	}{
		{"v1alpha1", "v1", true},
		{"v1beta1", "v2", true},
		{"v9", "", false},
		{"v8", "", false},
		{"", "", false},
		{"v1beta", "", false},
	} {
		if got, found := accessor.ContractVersionOf(prefix, versions, labels, tc.apiVersion); got != tc.want || found != tc.found {
			t.Errorf("%s: got %q, %t", tc.apiVersion, got, found)
		}
	}
	if got, found := accessor.ContractVersionOf(prefix, versions, map[string]string{prefix + "v1": ""}, ""); found {
		t.Errorf("an empty label lists %q", got)
	}
}

func TestCRDName(t *testing.T) {
	for kind, want := range map[string]string{
		"DockerMachine": "dockermachines.example.com",
		"Proxy":         "proxies.example.com",
		"Bus":           "buses.example.com",
		"Index":         "indices.example.com",
		"KubeadmConfig": "kubeadmconfigs.example.com",
	} {
		if got := accessor.CRDName("example.com", kind); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}

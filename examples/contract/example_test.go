// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/machinist-dev/machinist/examples/contract/facade"
	"github.com/machinist-dev/machinist/examples/contract/loadbalancer"
)

// An object of a kind that this program has never heard of, read by the contract.
func Example() {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "acme.example.com/v1", "kind": "EdgeProxy",
		"spec":   map[string]any{"zones": []any{"a", "b"}, "flavour": "vanilla"},
		"status": map[string]any{"hostname": "front.example.com", "state": map[string]any{"ready": "true"}},
	}}
	lb, err := facade.WrapLoadBalancer(obj, loadbalancer.V1)
	fmt.Println(err)
	fmt.Println(lb.Hostname())
	fmt.Println(lb.Zones())
	fmt.Println(lb.Ready(), lb.Replicas())

	facade.PruneLoadBalancer(obj)
	fmt.Println(obj.Object["spec"])
	// Output:
	// .status.state.ready: expected boolean, found string "true" (contract version v1)
	// front.example.com true
	// [a b] true
	// false 1
	// map[zones:[a b]]
}

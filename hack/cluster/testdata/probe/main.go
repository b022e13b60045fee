// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Probe is the pod of the cluster's own test: an admission webhook that denies everything, and is ready once it has
// reached each of the addresses in DIAL from inside.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	for address := range strings.SplitSeq(os.Getenv("DIAL"), ",") {
		for {
			connection, err := net.DialTimeout("tcp", address, time.Second)
			if err == nil {
				_ = connection.Close()
				break
			}
			fmt.Println(err)
		}
		fmt.Println("reached", address)
	}
	http.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /deny", deny)
	fmt.Println(http.ListenAndServeTLS(":8443", "/tls/tls.crt", "/tls/tls.key", nil))
	os.Exit(1)
}

func deny(writer http.ResponseWriter, request *http.Request) {
	var review struct {
		Request struct{ UID string }
	}
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Println("denied", review.Request.UID)
	_ = json.NewEncoder(writer).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1",
		"kind":       "AdmissionReview",
		"response": map[string]any{
			"uid": review.Request.UID, "allowed": false, "status": map[string]any{"message": "denied by a pod"},
		},
	})
}

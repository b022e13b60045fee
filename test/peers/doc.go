// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peers checks that Machinist's API is Cluster API's API, against the release that go.mod names: the same JSON
// (roundtrip_test.go), the same CustomResourceDefinitions (schema_test.go) and the same Go names and values
// (goapi_test.go).
//
// Where the two differ on purpose, a table next to the check says so, with the reason. An entry of such a table that
// matches nothing any more fails the check, too, so that the tables stay the whole truth.
//
// It holds tests only and is a module of its own, so that Cluster API stays out of the product's dependencies. Run it with
//
//	cd test/peers && go test -count=1 ./...
//
// The -count=1 matters: to go test our CustomResourceDefinitions are files of another module, whose changes it does not see.
package peers

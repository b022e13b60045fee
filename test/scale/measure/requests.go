// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"net/http"
	"strings"

	"github.com/machinist-dev/machinist/test/environment"
)

// Requests counts the requests of one client by what they asked for, as in "patch machines/status".
type Requests map[string]Responses

// Responses counts the requests of one sort.
type Responses struct {
	All int `json:"all"`
	// Conflicts were answered 409: the object had changed since it was read, or exists already.
	Conflicts int `json:"conflicts,omitempty"`
	// Refused were answered with another code of 400 or more.
	Refused int `json:"refused,omitempty"`
}

// CountRequests counts requests. Those outside the API, such as discovery, are counted by their path.
func CountRequests(requests environment.Requests) Requests {
	counts := Requests{}
	for _, request := range requests {
		responses := counts[request.String()]
		responses.All++
		switch {
		case request.Code == http.StatusConflict:
			responses.Conflicts++
		case request.Code >= http.StatusBadRequest:
			responses.Refused++
		}
		counts[request.String()] = responses
	}
	return counts
}

// Where returns the counts of the requests whose verb and resource, without a subresource, match.
func (r Requests) Where(match func(verb, resource string) bool) Requests {
	matching := Requests{}
	for what, responses := range r {
		verb, target, _ := strings.Cut(what, " ")
		resource, _, _ := strings.Cut(target, "/")
		if match(verb, resource) {
			matching[what] = responses
		}
	}
	return matching
}

// Total adds all counts.
func (r Requests) Total() Responses {
	var total Responses
	for _, responses := range r {
		total.All += responses.All
		total.Conflicts += responses.Conflicts
		total.Refused += responses.Refused
	}
	return total
}

// IsWrite says whether a verb changes something.
func IsWrite(verb string) bool {
	switch verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

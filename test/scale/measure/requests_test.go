// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/machinist-dev/machinist/test/environment"
)

func TestCountRequests(t *testing.T) {
	g := NewWithT(t)
	patch := environment.Request{Verb: "patch", Resource: "machines", Subresource: "status", Code: http.StatusOK}
	conflict, refused := patch, patch
	conflict.Code, refused.Code = http.StatusConflict, http.StatusForbidden
	counts := CountRequests(environment.Requests{
		patch, patch, conflict, refused,
		{Verb: "get", Resource: "secrets", Code: http.StatusOK},
		{Verb: "watch", Resource: "machines"},
		{Verb: "get", URI: "/api?timeout=32s", Code: http.StatusOK},
	})
	g.Expect(counts).To(Equal(Requests{
		"patch machines/status": {All: 4, Conflicts: 1, Refused: 1},
		"get secrets":           {All: 1},
		"watch machines":        {All: 1},
		"get /api":              {All: 1},
	}))
	g.Expect(counts.Total()).To(Equal(Responses{All: 7, Conflicts: 1, Refused: 1}))
	writes := counts.Where(func(verb, _ string) bool { return IsWrite(verb) })
	g.Expect(writes).To(HaveLen(1))
	ofMachines := counts.Where(func(_, resource string) bool { return resource == "machines" })
	g.Expect(ofMachines.Total().All).To(Equal(5))
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// table has a line for each object and each way to read it: what the Machine that references it has said last.
type table struct {
	mu    sync.Mutex
	lines map[string]string
}

func (r *table) add(t *trial, s *subject) {
	verdict := "conforms"
	if len(t.problems) > 0 {
		verdict = "violates"
	}
	said := strings.TrimSpace(s.want.Ready.Status + " " + s.want.Ready.Reason + ": " + s.want.Ready.Message)
	if s.want.Done {
		said = cmp.Or(s.want.ProviderID, s.want.DataSecretName) + ", " + said
	}
	key := fmt.Sprintf("%s\t%s\t%s\t%s\t%s", t.File, t.Kind, cmp.Or(t.contract, "none")+" at "+t.apiVersion, verdict, s.name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.lines = map[string]string{}
	}
	r.lines[key] = strings.TrimSuffix(said, ":")
}

func (r *table) String() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "definition\tkind\tcontract\tverdict\tobject\tits Machine")
	for _, key := range slices.Sorted(maps.Keys(r.lines)) {
		fmt.Fprintf(w, "%s\t%s\n", key, r.lines[key])
	}
	_ = w.Flush() // to memory
	return out.String()
}

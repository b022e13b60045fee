// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of the Machine's CRD, in characters, as the API server counts them. One text that is longer makes it refuse
// the whole status, so the texts of others are shortened before they get that far.
const (
	maxReason            = 1024
	maxMessage           = 32768
	maxDeprecatedReason  = 256
	maxDeprecatedMessage = 10240
	maxSeverity          = 32
)

// reasonGrammar is the pattern of the Machine's CRD for reasons. The v1beta1 conditions have none.
var reasonGrammar = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// limit shortens s to at most n characters, n being at least 1; an ellipsis shows that something is missing. What is no
// UTF-8, as a Node may report it, is replaced: the API server would do so too, and the text would differ for ever.
func limit(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end] + "…"
}

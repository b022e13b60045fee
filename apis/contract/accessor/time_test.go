// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import "testing"

// FuzzPlainTime makes sure that the shortcut accepts nothing that the parser refuses.
func FuzzPlainTime(f *testing.F) {
	for _, seed := range []string{
		"2026-08-03T09:14:41Z", "0000-01-01T00:00:00Z", "9999-12-28T23:59:59Z",
		"2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01 00:00:00Z",
		"2026/01/01T00:00:00Z", "2026-01-01T00:00:00z", "+026-01-01T00:00:00Z", "2026-01-01T0a:00:00Z", "2026-01-01T00:00:00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if isPlainTime(s) && !isTime(s) {
			t.Errorf("%q is no RFC 3339 time", s)
		}
	})
}

func TestPlainTime(t *testing.T) {
	if !isPlainTime("2026-08-03T09:14:41Z") {
		t.Error("the usual form takes the long way")
	}
}

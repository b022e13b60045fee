// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// payload returns content outside the contract with a JSON encoding of about the given size in bytes. It has the shape
// that makes provider objects expensive to hold as maps: many small objects with a few keys each.
func payload(size int, random *rand.Rand) []any {
	if size <= 0 {
		return nil
	}
	var items []any
	for written := 0; written < size; {
		item := payloadItem(len(items), random)
		items = append(items, item)
		encoded, err := json.Marshal(item)
		if err != nil {
			panic(err) // strings, numbers and maps of them always have a JSON form
		}
		written += len(encoded) + len(",")
	}
	return items
}

func payloadItem(index int, random *rand.Rand) map[string]any {
	return map[string]any{
		"deviceName":          fmt.Sprintf("/dev/disk/by-id/device-%03d", index),
		"size":                int64(8 << random.IntN(8)),
		"encrypted":           index%2 == 0,
		"deleteOnTermination": true,
		"volume":              map[string]any{"id": fmt.Sprintf("vol-%016x", random.Uint64()), "type": "gp3", "iops": int64(3000)},
		"tags": map[string]any{
			"example.com/owner":   fmt.Sprintf("team-%02d", random.IntN(50)),
			"example.com/purpose": "payload of the simulator",
		},
	}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
)

// payload returns content outside the contract with a JSON encoding of about the given size in bytes, none if that is not
// positive. It has the shape that makes provider objects expensive to hold as maps: many small objects with a few keys.
func payload(size int) []any {
	var items []any
	for written := 0; written < size; {
		item := payloadItem(len(items))
		items = append(items, item)
		encoded, err := json.Marshal(item)
		if err != nil {
			panic(err) // strings, numbers and maps of them always have a JSON form
		}
		written += len(encoded) + len(",")
	}
	return items
}

func payloadItem(index int) map[string]any {
	return map[string]any{
		"deviceName":          fmt.Sprintf("/dev/disk/by-id/device-%03d", index),
		"size":                int64(8 * (1 + index%16)),
		"encrypted":           index%2 == 0,
		"deleteOnTermination": true,
		"volume":              map[string]any{"id": fmt.Sprintf("vol-%016x", index*index), "type": "gp3", "iops": int64(3000)},
		"tags": map[string]any{
			"example.com/owner":   fmt.Sprintf("team-%02d", index%50),
			"example.com/purpose": "payload of the simulator",
		},
	}
}

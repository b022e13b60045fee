// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
)

// payload returns items outside the contract with a JSON encoding of about the given size in bytes, none if that is not
// positive.
func payload(size int, item func(index int) map[string]any) []any {
	var items []any
	for written := 0; written < size; {
		next := item(len(items))
		items = append(items, next)
		encoded, err := json.Marshal(next)
		if err != nil {
			panic(err) // strings, numbers and maps of them always have a JSON form
		}
		written += len(encoded) + len(",")
	}
	return items
}

// device is what InfraMachines are full of: small objects of a few keys, which as Go maps take over five times the memory
// of their JSON.
func device(index int) map[string]any {
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

// file is what BootstrapConfigs are full of: long strings.
func file(index int) map[string]any {
	return map[string]any{
		"path":        fmt.Sprintf("/etc/kubernetes/simulated/file-%03d.conf", index),
		"owner":       "root:root",
		"permissions": "0640",
		"content":     strings.Repeat(fmt.Sprintf("setting-%03d = value of the simulator\n", index), 6),
	}
}

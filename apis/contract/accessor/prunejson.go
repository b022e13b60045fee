// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// usualSize is a number of bytes that most pruned objects fit into.
const usualSize = 1536

// PruneJSON is Prune for an object that is still JSON. It appends to dst the JSON of what Prune keeps of the object at the
// begin of src, and returns the bytes of src that follow the object. src is neither changed nor held.
//
// The result, decoded, is what decoding and Prune would have left. Members keep their order, and numbers and strings their
// spelling, as a rule: only an object that has something unusual in it (an escaped or repeated key on the way to the
// contract's fields, an exponent, a string that is no UTF-8, nesting deeper than 64) is decoded and encoded again.
//
// The error names the offset in src of what is no JSON, or no object. All of the object is checked, whatever is kept.
func (k *Kind) PruneJSON(dst, src []byte) (pruned, rest []byte, err error) {
	p := pruner{src: src, out: slices.Grow(dst, min(len(src), usualSize))}
	p.space()
	if p.peek() == '{' {
		if _, ok := p.members(k.kept); ok {
			return p.out, src[p.at:], nil
		}
	}
	return k.pruneDecoded(dst, src)
}

// PruneListJSON applies PruneJSON to each of the items of a list, and returns them beside the list as it is without items.
// items is nil if there is no such member, and empty if it is null or empty. Nothing may follow the list in src.
func (k *Kind) PruneListJSON(src []byte) (list []byte, items [][]byte, err error) {
	p := pruner{src: src}
	if list, items, ok := p.list(k); ok {
		return list, items, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(src, &members); err != nil {
		return nil, nil, explained(err, src)
	}
	if raw, exists := members["items"]; exists {
		var rawItems []json.RawMessage
		if err := json.Unmarshal(raw, &rawItems); err != nil {
			return nil, nil, fmt.Errorf("items of the list: %w", err)
		}
		items = make([][]byte, len(rawItems))
		for i, raw := range rawItems {
			if items[i], _, err = k.PruneJSON(nil, raw); err != nil {
				return nil, nil, fmt.Errorf("item %d of the list: %w", i, err)
			}
		}
		delete(members, "items")
	}
	list, err = json.Marshal(members)
	return list, items, err
}

// pruneDecoded is the long way, which everything that is unusual or wrong takes.
func (k *Kind) pruneDecoded(dst, src []byte) (pruned, rest []byte, err error) {
	decoder := json.NewDecoder(bytes.NewReader(src))
	var source json.RawMessage
	if err := decoder.Decode(&source); err != nil {
		return nil, nil, explained(err, src)
	}
	rest = src[decoder.InputOffset():]
	if source = bytes.TrimSpace(source); source[0] != '{' {
		return nil, nil, fmt.Errorf("expected a JSON object, found %.20q at offset %d", source, len(src)-len(rest)-len(source))
	}
	var object map[string]any
	if err := utiljson.Unmarshal(source, &object); err != nil {
		return nil, nil, explained(err, source)
	}
	data, err := json.Marshal(k.kept.pruneMembers(object))
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a pruned object: %w", err)
	}
	return append(dst, data...), rest, nil
}

// explained adds the offset, which the error of a decoder knows but does not say.
func explained(err error, src []byte) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("invalid JSON at offset %d of %d: %w", syntax.Offset, len(src), err)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("unusable JSON at offset %d of %d: %w", wrong.Offset, len(src), err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("JSON ends too early, at offset %d: %w", len(src), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("invalid JSON: %w", err)
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"bytes"
	"unicode/utf8"
)

// pruner copies the JSON of an object without what a mask drops, in one pass and without decoding anything.
//
// It knows only what is usual. Its methods report false when they meet anything else, valid or not, and then what they
// have written is worthless: the caller decodes. So all that is accepted here must be valid JSON, and mean the same to a
// decoder, but nothing has to be accepted.
type pruner struct {
	src []byte
	at  int
	out []byte
}

const (
	// maxNesting is how deep a value may be that is passed by; it bounds the recursion.
	maxNesting = 64
	// maxDigits keeps numbers in the range of a float64.
	maxDigits = 300
)

// value reads a value. It is written if the mask keeps it.
func (p *pruner) value(m *mask) (kept, ok bool) {
	switch c := p.peek(); {
	case c == '{' && !m.whole && (m.items == nil || len(m.members) > 0):
		some, ok := p.members(m)
		return m.value || some, ok
	case c == '[' && !m.whole && m.items != nil:
		return true, p.elements(m.items)
	case c == 'n' && !m.value:
		return false, p.skip(maxNesting)
	default:
		return true, p.copy()
	}
}

// members reads an object and writes the members that the mask keeps; some is false if there are none.
func (p *pruner) members(m *mask) (some, ok bool) {
	p.out = append(p.out, '{')
	var seen uint64
	for more := p.begin('}'); more; more = p.next() {
		key, ok := p.key()
		if !ok {
			return some, false
		}
		i := m.find(key)
		if i < 0 {
			if !p.skip(maxNesting) {
				return some, false
			}
			continue
		}
		if i >= 64 || seen&(1<<i) != 0 {
			return some, false // of two members with one key the last counts
		}
		seen |= 1 << i
		start := len(p.out)
		if some {
			p.out = append(p.out, ',')
		}
		p.out = append(append(append(p.out, '"'), key...), '"', ':')
		kept, ok := p.value(m.members[i].mask)
		switch {
		case !ok:
			return some, false
		case kept:
			some = true
		default:
			p.out = p.out[:start]
		}
	}
	p.out = append(p.out, '}')
	return some, p.take('}')
}

// elements reads a list and writes it, with the mask applied to the objects in it.
func (p *pruner) elements(m *mask) bool {
	p.out = append(p.out, '[')
	for more := p.begin(']'); more; more = p.next() {
		if last := len(p.out) - 1; p.out[last] != '[' {
			p.out = append(p.out, ',')
		}
		if p.peek() == '{' {
			if _, ok := p.members(m); !ok {
				return false
			}
		} else if !p.copy() {
			return false
		}
	}
	p.out = append(p.out, ']')
	return p.take(']')
}

// list reads a list of objects of a kind; see Kind.PruneListJSON.
func (p *pruner) list(k *Kind) (list []byte, items [][]byte, ok bool) {
	p.space()
	if p.peek() != '{' {
		return nil, nil, false
	}
	p.out = append(p.out, '{')
	for more := p.begin('}'); more; more = p.next() {
		key, ok := p.key()
		switch {
		case !ok:
			return nil, nil, false
		case string(key) == "items":
			if items != nil || p.peek() != '[' {
				return nil, nil, false
			}
			if items, ok = p.items(k); !ok {
				return nil, nil, false
			}
		default:
			if len(p.out) > 1 {
				p.out = append(p.out, ',')
			}
			p.out = append(append(append(p.out, '"'), key...), '"', ':')
			if !p.copy() {
				return nil, nil, false
			}
		}
	}
	p.out = append(p.out, '}')
	ok = p.take('}')
	p.space()
	return p.out, items, ok && p.at == len(p.src)
}

// items prunes each of the objects in a list by itself, so that only those that have something unusual are decoded.
func (p *pruner) items(k *Kind) (items [][]byte, ok bool) {
	items = [][]byte{}
	var scratch []byte
	for more := p.begin(']'); more; more = p.next() {
		pruned, rest, err := k.PruneJSON(scratch[:0], p.src[p.at:])
		if err != nil {
			return nil, false // the long way finds it again, and knows which item it is
		}
		items, scratch = append(items, bytes.Clone(pruned)), pruned
		p.at = len(p.src) - len(rest)
	}
	return items, p.take(']')
}

// copy reads any value and writes it as it is.
func (p *pruner) copy() bool {
	start := p.at
	if !p.skip(maxNesting) {
		return false
	}
	value := p.src[start:p.at]
	p.out = append(p.out, value...)
	return utf8.Valid(value) // a decoder replaces what is not
}

// skip reads any value that has no more than the given number of objects and lists in each other.
func (p *pruner) skip(nesting int) bool {
	switch p.peek() {
	case '"':
		return p.text()
	case '{':
		if nesting == 0 {
			return false
		}
		for more := p.begin('}'); more; more = p.next() {
			if !p.text() || !p.colon() || !p.skip(nesting-1) {
				return false
			}
		}
		return p.take('}')
	case '[':
		if nesting == 0 {
			return false
		}
		for more := p.begin(']'); more; more = p.next() {
			if !p.skip(nesting - 1) {
				return false
			}
		}
		return p.take(']')
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

// find returns the index of the member; -1 if the mask has none of this key.
func (m *mask) find(key []byte) int {
	for i := range m.members {
		if string(key) == m.members[i].key {
			return i
		}
	}
	return -1
}

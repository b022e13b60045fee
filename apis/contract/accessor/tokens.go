// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// peek returns the next byte; 0, which is not valid outside of strings nor in them, at the end.
func (p *pruner) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// take reads the byte if it is the next one.
func (p *pruner) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *pruner) space() {
	for c := p.peek(); c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r'); c = p.peek() {
		p.at++
	}
}

// begin reads the begin of the object or list at hand, which ends with the given byte, and reports whether there is
// something in it.
func (p *pruner) begin(end byte) bool {
	p.at++
	p.space()
	return p.peek() != end
}

// next reads the comma after a member or an element, and reports whether there was one. If not, this is the end, or wrong.
// A comma before the end is wrong, too: no value begins like that.
func (p *pruner) next() bool {
	p.space()
	if !p.take(',') {
		return false
	}
	p.space()
	return true
}

func (p *pruner) colon() bool {
	p.space()
	if !p.take(':') {
		return false
	}
	p.space()
	return true
}

// key reads a key and its colon. A key that is spelled with escapes is none that can be compared.
func (p *pruner) key() ([]byte, bool) {
	start := p.at + 1
	if !p.text() {
		return nil, false
	}
	key := p.src[start : p.at-1]
	return key, bytes.IndexByte(key, '\\') < 0 && p.colon()
}

// text reads a string.
func (p *pruner) text() bool {
	if !p.take('"') {
		return false
	}
	for {
		length := plainLength(p.src[p.at:])
		p.at += length
		switch p.peek() {
		case '"':
			p.at++
			return true
		case '\\':
			p.at++
			if !p.escape() {
				return false
			}
		default:
			return false // a control character, or the end
		}
	}
}

// plainLength returns the number of bytes before the first quote, backslash or control character. Most of an object is
// passed by here: it takes eight bytes at a time.
func plainLength(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		word := binary.LittleEndian.Uint64(s[i:])
		quote, slash := word^('"'*ones), word^('\\'*ones)
		// A byte's top bit is set where it is zero in quote or slash, or less than a space in word. Borrows may set more,
		// but only above one that is right.
		if special := ((quote-ones)&^quote | (slash-ones)&^slash | (word-' '*ones)&^word) & tops; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// escape reads what follows a backslash.
func (p *pruner) escape() bool {
	c := p.peek()
	p.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if !isHex(p.peek()) {
				return false
			}
			p.at++
		}
		return true
	default:
		return false
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (p *pruner) word(word string) bool {
	if len(p.src)-p.at < len(word) || string(p.src[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

// number reads a number up to its exponent, if it has one. Nothing that may follow a value begins like an exponent.
func (p *pruner) number() bool {
	start := p.at
	p.take('-')
	first := p.peek()
	if digits := p.digits(); digits == 0 || first == '0' && digits > 1 {
		return false
	}
	if p.take('.') && p.digits() == 0 {
		return false
	}
	return p.at-start <= maxDigits
}

func (p *pruner) digits() int {
	start := p.at
	for c := p.peek(); '0' <= c && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at - start
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package accessor

import (
	"strconv"
	"strings"
	"time"
)

// check returns nil if the value may stand where the type is expected, else the first thing that is wrong with it.
func (t *Type) check(v any) *mismatch {
	ok := false
	switch t.Kind {
	case String:
		s, isString := v.(string)
		if isString && !t.allows(s) {
			return &mismatch{expected: "one of " + strings.Join(t.Enum, ", "), found: describe(v)}
		}
		ok = isString
	case Bool:
		_, ok = AsBool(v)
	case Int32:
		_, ok = AsInt32(v)
	case Int64:
		_, ok = AsInt64(v)
	case Time:
		s, isString := v.(string)
		ok = isString && (isPlainTime(s) || isTime(s))
	case Duration:
		_, ok = AsDuration(v)
	case Object:
		if m, isObject := v.(map[string]any); isObject {
			return checkMembers(m, t.Members)
		}
	case ObjectList, StringList:
		if list, isList := v.([]any); isList {
			return t.checkItems(list)
		}
	case StringMap:
		if m, isObject := v.(map[string]any); isObject {
			return checkStringValues(m)
		}
	}
	if !ok {
		return &mismatch{expected: t.Kind.String(), found: describe(v)}
	}
	return nil
}

func (t *Type) checkItems(list []any) *mismatch {
	for i, item := range list {
		var bad *mismatch
		switch m, isObject := item.(map[string]any); {
		case t.Kind == StringList:
			if _, isString := item.(string); !isString {
				bad = &mismatch{expected: "string", found: describe(item)}
			}
		case isObject:
			bad = checkMembers(m, t.Members)
		case !t.SkipNonObjects:
			bad = &mismatch{expected: "object", found: describe(item)}
		}
		if bad != nil {
			return bad.under("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func checkMembers(m map[string]any, members []Member) *mismatch {
	for i := range members {
		member := &members[i]
		v, exists := m[member.Key]
		if !exists || member.Type.absent(v) {
			if member.Required {
				return &mismatch{path: "." + member.Key, expected: member.Type.Kind.String(), found: "nothing"}
			}
			continue
		}
		if s, isString := v.(string); member.Required && isString && s == "" {
			return &mismatch{path: "." + member.Key, expected: "a string that is not empty", found: describe(v)}
		}
		if bad := member.Type.check(v); bad != nil {
			return bad.under("." + member.Key)
		}
	}
	return nil
}

// checkStringValues goes through the keys in no order, but reports the first bad one by name, so that an object
// always gives the same message.
func checkStringValues(m map[string]any) *mismatch {
	first, found := "", false
	for key, v := range m {
		if _, isString := v.(string); !isString && (!found || key < first) {
			first, found = key, true
		}
	}
	if !found {
		return nil
	}
	return &mismatch{path: "[" + first + "]", expected: "string", found: describe(m[first])}
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// isPlainTime recognises times in the form that Kubernetes writes, 2006-01-02T15:04:05Z, in a fraction of the time that
// parsing takes: conditions are full of them. The last days of a month, and all that is unusual, are left to the parser.
func isPlainTime(s string) bool {
	return len(s) == len("2006-01-02T15:04:05Z") &&
		s[4] == '-' && s[7] == '-' && s[10] == 'T' && s[13] == ':' && s[16] == ':' && s[19] == 'Z' &&
		within(s[0:2], 0, 99) && within(s[2:4], 0, 99) && within(s[5:7], 1, 12) && within(s[8:10], 1, 28) &&
		within(s[11:13], 0, 23) && within(s[14:16], 0, 59) && within(s[17:19], 0, 59)
}

// within says whether the two bytes are the digits of a number between low and high.
func within(s string, low, high byte) bool {
	tens, ones := s[0]-'0', s[1]-'0'
	number := 10*tens + ones
	return tens <= 9 && ones <= 9 && low <= number && number <= high
}

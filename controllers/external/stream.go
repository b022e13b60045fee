// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// The envelope of a watch event as API servers write it, without spaces and in one line. It is recognized by its bytes;
// one that is written in another way is read as client-go would.
var (
	eventBegin = []byte(`{"type":"`)
	objectKey  = []byte(`","object":`)
)

// eventDecoder decodes the events of a watch. The object in an event is pruned on the way, so that its bytes are read once
// and what client-go does with it from there on is done with what is left.
type eventDecoder struct{ decoder }

// Decode implements runtime.Decoder for a *metav1.WatchEvent.
func (d eventDecoder) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("expected to decode into a WatchEvent, not a %T", into)
	}
	if d.pruneEvent(data, event) {
		return event, nil, nil
	}
	if err := utiljson.Unmarshal(data, event); err != nil {
		if isCut(data) {
			return nil, nil, io.ErrUnexpectedEOF // the connection is gone; client-go ends the watch
		}
		return nil, nil, fmt.Errorf("reading a watch event: %w", err)
	}
	return event, nil, nil
}

func isCut(data []byte) bool {
	var value stdjson.RawMessage
	return errors.Is(stdjson.NewDecoder(bytes.NewReader(data)).Decode(&value), io.ErrUnexpectedEOF)
}

// pruneEvent reads an event about an object. It reports false for anything else.
func (d eventDecoder) pruneEvent(data []byte, event *metav1.WatchEvent) bool {
	data, begins := bytes.CutPrefix(data, eventBegin)
	name, _, found := bytes.Cut(data[:min(len(data), 32)], objectKey)
	if !begins || !found {
		return false
	}
	switch watch.EventType(name) {
	case watch.Added, watch.Modified, watch.Deleted:
	default:
		return false // bookmarks and errors are not of the role
	}
	pruned, rest, err := d.role.pruneJSON(nil, data[len(name)+len(objectKey):])
	if err != nil || string(bytes.TrimSpace(rest)) != "}" {
		return false
	}
	event.Type, event.Object.Raw = string(name), pruned
	return true
}

// framer cuts the body of a watch into events.
type framer struct{}

// NewFrameReader implements runtime.Framer.
func (framer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return &frameReader{Closer: body, body: bufio.NewReaderSize(body, 32<<10)}
}

// NewFrameWriter implements runtime.Framer.
func (framer) NewFrameWriter(w io.Writer) io.Writer { return json.Framer.NewFrameWriter(w) }

// frameReader returns one event for each series of reads that ends without io.ErrShortBuffer. Events that begin as API
// servers write them end with their line, so that their end is found without parsing them. With the first one that begins
// in another way, reading is left to client-go, which parses each.
type frameReader struct {
	io.Closer
	body *bufio.Reader
	// inside is true after a read that did not reach the end of the event.
	inside bool
	parsed io.Reader
}

// Read implements io.Reader, in the way that the API machinery expects it of frames.
func (r *frameReader) Read(buffer []byte) (int, error) {
	if r.parsed == nil && !r.inside {
		if err := r.begin(); err != nil {
			return 0, err
		}
	}
	if r.parsed != nil {
		return r.parsed.Read(buffer)
	}
	r.inside = true
	for n := 0; ; {
		if _, err := r.body.Peek(1); errors.Is(err, io.EOF) {
			r.inside = false
			return n, nil // the last line has no end, or the event is incomplete: its decoder will know
		} else if err != nil {
			return n, err
		}
		part, _ := r.body.Peek(min(r.body.Buffered(), len(buffer)-n))
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end+1]
		}
		n += copy(buffer[n:], part)
		_, _ = r.body.Discard(len(part))
		switch {
		case end >= 0:
			r.inside = false
			return n, nil
		case n == len(buffer):
			return n, io.ErrShortBuffer
		}
	}
}

// begin looks at how an event begins, after empty lines.
func (r *frameReader) begin() error {
	for {
		c, err := r.body.ReadByte()
		if err != nil {
			return err
		}
		if c == '\n' || c == '\r' || c == ' ' || c == '\t' {
			continue
		}
		_ = r.body.UnreadByte()
		if first, _ := r.body.Peek(len(eventBegin)); !bytes.Equal(first, eventBegin) {
			r.parsed = json.Framer.NewFrameReader(struct {
				io.Reader
				io.Closer
			}{r.body, r.Closer})
		}
		return nil
	}
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkInterval is that of a real API server.
const bookmarkInterval = time.Minute

// watcher sends the changes of one resource to one client. It has no queue: it reads the store's history at its own pace,
// and one that is slower than the history is long gets 410 Gone.
type watcher struct {
	resource  *resource
	store     *store
	selection selection
	bookmarks bool
	encoding  encoding
	writer    http.ResponseWriter
	// version is the last one that the client has seen everything of.
	version uint64
}

func (r *resource) watch(c *Cluster, w http.ResponseWriter, req *http.Request, sel selection) error {
	query := req.URL.Query()
	version, err := queryNumber(req, "resourceVersion")
	if err != nil {
		return err
	}
	seconds, err := queryNumber(req, "timeoutSeconds")
	if err != nil {
		return err
	}
	ctx := req.Context()
	if seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	enc := negotiate(req)
	w.Header().Set("Content-Type", enc.contentType()+streamSuffix(enc))
	w.WriteHeader(http.StatusOK)
	watcher := &watcher{
		resource: r, store: c.store, selection: sel, encoding: enc, writer: w,
		bookmarks: queryFlag(req, "allowWatchBookmarks"),
		version:   version,
	}
	// Without a version, and with version 0, a watch starts with the present objects, unless it says that it
	// doesn't want them. "sendInitialEvents" additionally asks for a bookmark after them.
	initial := version == 0
	if query.Has("sendInitialEvents") {
		initial = queryFlag(req, "sendInitialEvents")
	}
	watcher.run(ctx, initial, initial && query.Has("sendInitialEvents"))
	return nil
}

// streamSuffix is the media type parameter by which clients pick the framing of a protobuf stream.
func streamSuffix(enc encoding) string {
	if _, isProtobuf := enc.(protobufEncoding); isProtobuf {
		return ";stream=watch"
	}
	return ""
}

// run returns when the client is gone, the timeout has passed, or an error was sent.
func (w *watcher) run(ctx context.Context, initial, markEnd bool) {
	if err := w.start(initial, markEnd); err != nil {
		w.sendError(err)
		return
	}
	ticker := time.NewTicker(bookmarkInterval)
	defer ticker.Stop()
	for {
		changes, version, changed, err := w.store.since(w.resource, w.version)
		if err != nil {
			w.sendError(err)
			return
		}
		if err := w.sendChanges(ctx, changes); err != nil {
			return
		}
		w.version = version
		if err := w.flush(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-ticker.C:
			if err := w.sendBookmark(nil); err != nil {
				return
			}
		}
	}
}

// start sends the present objects, if the client wants them, or else finds the version to go on from.
func (w *watcher) start(initial, markEnd bool) error {
	if !initial {
		if w.version == 0 {
			w.version = w.store.currentVersion()
		}
		return nil
	}
	records, _, version := w.store.list(w.resource, w.selection, types.NamespacedName{}, 0)
	for _, rec := range records {
		if err := w.send(watch.Added, rec); err != nil {
			return err
		}
	}
	w.version = version
	if !markEnd {
		return nil
	}
	return w.sendBookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}

func (w *watcher) sendChanges(ctx context.Context, changes []change) error {
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		kind, relevant := w.selection.eventOf(c)
		if !relevant {
			continue
		}
		if err := w.send(kind, c.now); err != nil {
			return err
		}
	}
	return nil
}

// eventOf says what a change is to somebody who sees selected objects only: an object that begins to match is added,
// one that ceases to match is deleted.
func (s selection) eventOf(c change) (watch.EventType, bool) {
	before := c.before != nil && s.matches(c.now.key, c.before)
	now := c.kind != watch.Deleted && s.matches(c.now.key, &c.now.attributes)
	switch {
	case now && before:
		return watch.Modified, true
	case now:
		return watch.Added, true
	case before:
		return watch.Deleted, true
	default:
		return "", false
	}
}

func (w *watcher) send(kind watch.EventType, rec *record) error {
	object, err := w.encoding.object(w.resource, rec)
	if err != nil {
		return err
	}
	return w.sendEncoded(kind, object)
}

func (w *watcher) sendBookmark(annotations map[string]string) error {
	if !w.bookmarks {
		return nil
	}
	mark := w.resource.newObject()
	mark.SetResourceVersion(strconv.FormatUint(w.version, 10))
	mark.SetAnnotations(annotations)
	object, err := w.encoding.wrap(w.resource.GroupVersionKind, mark)
	if err != nil {
		return err
	}
	return w.sendEncoded(watch.Bookmark, object)
}

// sendError ends the stream with a Status, which is how 410 Gone reaches a client whose watch was accepted. If it can't
// be sent the client is gone.
func (w *watcher) sendError(err error) {
	object, err := w.encoding.wrap(schema.GroupVersionKind{Version: "v1", Kind: "Status"}, statusOfError(err))
	if err != nil {
		return
	}
	if err := w.sendEncoded(watch.Error, object); err != nil {
		return
	}
	_ = w.flush()
}

func (w *watcher) sendEncoded(kind watch.EventType, object []byte) error {
	event, err := w.encoding.event(string(kind), object)
	if err != nil {
		return err
	}
	_, err = w.writer.Write(event)
	return err
}

func (w *watcher) flush() error {
	return http.NewResponseController(w.writer).Flush()
}

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is an entry of a tar; one whose name ends in a slash is a folder.
type file struct {
	name    string
	mode    int64
	content []byte
}

// filesOf are the files of the image, in their order.
func filesOf(binary []byte) []file {
	return []file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		{"manager", 0o755, binary},
		{"tmp/", 0o1777, nil},
	}
}

// roots are the certificates by which public API servers are known. Those whose trust is limited are left out, as a file can't
// say how.
func roots() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// A buffer takes everything.
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return all.Bytes()
}

// writeRootfs writes the files of the image as a tar.
func writeRootfs(o options, binary []byte, w io.Writer) (string, error) {
	return "the files of the image", writeTar(w, filesOf(binary), o.time())
}

// layerOf packs the files of the image into its layer.
func layerOf(o options, binary []byte) (v1.Layer, error) {
	var packed bytes.Buffer
	if _, err := writeRootfs(o, binary, &packed); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeTar writes files that belong to root and are all of the same age.
func writeTar(w io.Writer, files []file, created time.Time) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: created,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

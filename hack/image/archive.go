// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// archive writes the image as a tar with an OCI image layout, and with a manifest.json beside it as docker save writes it, for
// those who know no layouts.
func archive(w io.Writer, image v1.Image, tag name.Tag, created time.Time) error {
	blobs, err := blobsOf(image)
	if err != nil {
		return err
	}
	index, err := indexOf(image, tag)
	if err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	legacy := tarball.Descriptor{Config: pathOf(manifest.Config.Digest), RepoTags: []string{tag.String()}}
	for _, layer := range manifest.Layers {
		legacy.Layers = append(legacy.Layers, pathOf(layer.Digest))
	}
	manifestJSON, err := json.Marshal(tarball.Manifest{legacy})
	if err != nil {
		return err
	}
	files := []file{{"blobs/", 0o755, nil}, {"blobs/sha256/", 0o755, nil}}
	files = append(files, blobs...)
	files = append(files,
		file{"index.json", 0o644, index},
		file{"manifest.json", 0o644, manifestJSON},
		file{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	)
	return writeTar(w, files, created)
}

// blobsOf are the layers of the image, its configuration and its manifest.
func blobsOf(image v1.Image) ([]file, error) {
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	var blobs []file
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return nil, err
		}
		compressed, err := layer.Compressed()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(compressed)
		if err != nil {
			return nil, fmt.Errorf("compressing a layer: %w", err)
		}
		blobs = append(blobs, file{pathOf(digest), 0o644, content})
	}
	for _, part := range []struct {
		digest  func() (v1.Hash, error)
		content func() ([]byte, error)
	}{{image.ConfigName, image.RawConfigFile}, {image.Digest, image.RawManifest}} {
		digest, err := part.digest()
		if err != nil {
			return nil, err
		}
		content, err := part.content()
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, file{pathOf(digest), 0o644, content})
	}
	return blobs, nil
}

// indexOf is the index of a layout with one image. containerd takes the name from the first annotation, others from the second.
func indexOf(image v1.Image, tag name.Tag) ([]byte, error) {
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := image.Size()
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return json.Marshal(v1.IndexManifest{
		SchemaVersion: 2,
		MediaType:     types.OCIImageIndex,
		Manifests: []v1.Descriptor{{
			MediaType: types.OCIManifestSchema1,
			Digest:    digest,
			Size:      size,
			Platform:  &v1.Platform{OS: config.OS, Architecture: config.Architecture},
			Annotations: map[string]string{
				"io.containerd.image.name":          strings.Replace(tag.Name(), name.DefaultRegistry, "docker.io", 1),
				"org.opencontainers.image.ref.name": tag.TagStr(),
			},
		}},
	})
}

func pathOf(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

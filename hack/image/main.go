// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Image packs a static binary into a container image, and the image into a tarball that docker load, podman load and
// ctr images import take. It needs no container engine and no registry, and makes the same bytes of the same input.
//
// The image holds what a program needs that is linked statically: the roots that Go trusts, two users, and /tmp. They can be
// had as a tar, too, of which the Dockerfile makes the same image. A list of all software in it is written as CycloneDX.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// options are what the image is made of, and where it goes.
type options struct {
	binary   string
	arch     string
	tag      string
	version  string
	revision string
	created  int64
	output   string
	rootfs   string
	sbom     string
}

// time is that of everything in the image.
func (o options) time() time.Time { return time.Unix(o.created, 0).UTC() }

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	binary, err := readBinary(o.binary, o.arch)
	if err != nil {
		return err
	}
	for _, product := range []struct {
		path  string
		write func(options, []byte, io.Writer) (string, error)
	}{{o.rootfs, writeRootfs}, {o.sbom, writeSBOM}, {o.output, writeImage}} {
		if product.path == "" {
			continue
		}
		var what string
		err := writeFile(product.path, func(w io.Writer) (err error) {
			what, err = product.write(o, binary, w)
			return err
		})
		if err != nil {
			return fmt.Errorf("writing %s: %w", product.path, err)
		}
		fmt.Fprintf(out, "%s: %s\n", product.path, what)
	}
	return nil
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "Path of the program, linked statically for linux.")
	flags.StringVar(&o.arch, "arch", "amd64", "Architecture that the program is for: amd64 or arm64.")
	flags.StringVar(&o.tag, "tag", "", "Name and tag of the image, as in machinist/manager:v1.0.0.")
	flags.StringVar(&o.version, "version", "", "Version, for the annotations.")
	flags.StringVar(&o.revision, "revision", "", "Commit, for the annotations.")
	flags.Int64Var(&o.created, "created", 0, "Time of everything in the image, in seconds since 1970; that of the commit, usually.")
	flags.StringVar(&o.output, "output", "", "Path of the image's tarball; needs -tag.")
	flags.StringVar(&o.rootfs, "rootfs", "", "Path of a tar of the image's files, for the Dockerfile.")
	flags.StringVar(&o.sbom, "sbom", "", "Path of the list of software in the image, as CycloneDX JSON.")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.binary == "" || o.output+o.rootfs+o.sbom == "" {
		return o, errors.New("-binary is needed, and one or more of -output, -rootfs and -sbom")
	}
	if o.output == "" {
		return o, nil
	}
	tag, err := name.NewTag(o.tag)
	if err == nil && !strings.HasSuffix(o.tag, ":"+tag.TagStr()) {
		err = errors.New("the tag is missing")
	}
	if err != nil {
		return o, fmt.Errorf("-tag is %q, expected a name and a tag: %w", o.tag, err)
	}
	return o, nil
}

// writeFile writes a file that is there as a whole or not at all.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone if everything went well
	if err := errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

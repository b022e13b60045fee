// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Image packs a static binary into a container image, and the image into a tarball that docker load, podman load and
// ctr images import take. It needs no container engine and no registry, and makes the same bytes of the same input.
//
// The image holds what a program needs that is linked statically: the roots that Go trusts, two users, and /tmp.
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
}

func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.binary, "binary", "", "Path of the program, linked statically for linux.")
	flags.StringVar(&o.arch, "arch", "amd64", "Architecture that the program is for: amd64 or arm64.")
	flags.StringVar(&o.tag, "tag", "", "Name and tag of the image, as in machinist/manager:v1.0.0.")
	flags.StringVar(&o.version, "version", "", "Version, for the annotations.")
	flags.StringVar(&o.revision, "revision", "", "Commit, for the annotations.")
	flags.Int64Var(&o.created, "created", 0, "Time of everything in the image, in seconds since 1970; that of the commit, usually.")
	flags.StringVar(&o.output, "output", "", "Path of the tarball.")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if o.binary == "" || o.tag == "" || o.output == "" {
		return errors.New("-binary, -tag and -output are needed")
	}
	tag, err := name.NewTag(o.tag)
	if err == nil && !strings.HasSuffix(o.tag, ":"+tag.TagStr()) {
		err = errors.New("the tag is missing")
	}
	if err != nil {
		return fmt.Errorf("-tag is %q, expected a name and a tag: %w", o.tag, err)
	}
	image, err := build(o)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	if err := writeFile(o.output, func(w io.Writer) error { return archive(w, image, tag, time.Unix(o.created, 0).UTC()) }); err != nil {
		return fmt.Errorf("writing %s: %w", o.output, err)
	}
	fmt.Fprintf(out, "%s: %s, linux/%s, %s\n", o.output, o.tag, o.arch, digest)
	return nil
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

# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# The image of the manager. `make image` builds the program and then this; nothing is compiled here, so that the image has the
# same bytes in it as that of `make image-tarball`, which needs no container engine. hack/image makes the latter, and does without
# this base: it puts into the image what this one has.
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETARCH
COPY bin/linux-${TARGETARCH}/manager /manager
# A number: of a name, Kubernetes can't tell that it isn't root.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/manager"]

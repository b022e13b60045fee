# Copyright The Machinist Authors.
# SPDX-License-Identifier: Apache-2.0

# The image of the manager. `make image` packs all of its files, and then builds this: nothing is compiled here, and nothing is
# pulled, so that the image is that of `make image-tarball`, which needs no container engine. A test of hack/image holds them
# together.
FROM scratch
ARG TARGETARCH
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.description="Runs Cluster API Machines" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="https://github.com/machinist-dev/machinist" \
      org.opencontainers.image.title="Machinist" \
      org.opencontainers.image.version="${VERSION}"
# A tar is unpacked by ADD.
ADD bin/linux-${TARGETARCH}/rootfs.tar /
ENV PATH=/
# A number: of a name, Kubernetes can't tell that it isn't root.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/manager"]

// Packs the manager's binary into an image, without a container engine. A module of its own, so that what it needs stays out
// of the product.
module github.com/machinist-dev/machinist/hack/image

go 1.26.0

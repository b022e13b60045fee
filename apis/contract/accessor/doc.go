// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accessor is the small runtime under accessors that facade-gen writes. It reads values out of unstructured
// objects of kinds it has never seen, and works out from one description, KindSpec, what of an object is kept in a
// cache, and which of its changes matter.
//
// # Rules of reading
//
//   - A key that is missing is absent, and so is everything below a parent that is missing, null or empty.
//   - A parent that is there but no object makes everything below it an error.
//   - A value of another JSON type is an error. So is an explicit null, which is not the same as nothing: nobody writes
//     it by accident of omission. A contract may say otherwise for a field, see Type.NullIsAbsent.
//   - No type stands in for another: "true" is no boolean, 1.0 is no integer. Integers have to fit, times and durations
//     have to parse.
//   - If a field has several places, the first one with a value counts, even if that value is unusable.
//
// A field with an unusable value reads as absent, and the error says where, what was expected and what was found. All
// other fields stay usable.
//
// Nothing here writes to an object, except Prune, which is for caches.
package accessor

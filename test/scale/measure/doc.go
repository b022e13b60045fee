// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure reads figures about a manager from outside: from its metrics, its profiles, the kernel and the API
// server's audit log. It knows nothing of what the manager is or does, so the same code measures every manager.
package measure

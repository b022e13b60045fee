// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificates gives the webhook server a certificate that the API server trusts, and renews both, without anything
// that would have to be installed first.
//
// One Secret holds all that there is: a bundle of authorities (ca.crt, newest first), the key of the newest (ca.key), and the
// serving certificate with its key (tls.crt, tls.key). Each replica has a Keeper, which reads that Secret every ten seconds,
// serves what it holds, renews what is due, and writes the bundle to wherever the API server looks for it: the webhook
// configurations, and the conversion of CustomResourceDefinitions.
//
// # Why no request fails while something is renewed
//
//	authority A  ─────────────────────────────────────┤ expires
//	authority B               ├──────────────────────────────────────
//	bundle       A            │ B, A                  │ B
//	serving      signed by A           │ signed by B
//	                          1        2
//
// At 1 the new authority joins the bundle, and nothing that is served changes. At 2, when all objects have held the new bundle
// for a minute and so every API server has heard of it, a certificate is signed by the new authority; the replicas take it
// within ten seconds, each in its own time, and until then the old one is as good. The old authority stays in the bundle until
// it has expired and the next one is made, or somebody has it retired. If the bundle can't be written, the second step waits, as
// long as the old certificate is valid.
//
// # Why no replica has to lead
//
// Every replica comes to the same result from the same Secret, a write of it fails if another replica was faster, and a bundle
// that is already there is not written again. So replicas need not agree on who does the work. They must not, either: the
// leader is elected after the caches are filled, Machines that are stored as v1beta1 can't be listed before their conversion
// webhook answers, and that needs a certificate.
//
// # Renewing at once
//
// Take the content out of the Secret, or delete it if the manager may create it again: each replica remembers what was there,
// so that this is step 1 above, and no request fails either. A manager that has just started remembers nothing and starts
// afresh; with that, all is retired that was to be.
//
// # Retiring what has leaked
//
// RetireAnnotation has steps 1 and 2 taken at once, and two minutes later a third:
//
//	bundle       A     │ B, A          │ B
//	serving      signed by A    │ signed by B
//	annotation   A                     │
//	                   1        2      3
//
// At 3 authority and annotation leave the Secret in one write, and the targets are told. Which authorities are meant is in the
// Secret from step 1 on, so that whoever starts, or goes on, comes to the same result; only the two minutes begin again for a
// replica that starts.
//
// A replica that is late can't bring A back: each asks, after it has read a target and before it writes it, whether the Secret is
// still what it acts by. But a replica that has not been able to read the Secret for these two minutes, and that is called
// nevertheless, still serves what A has signed; requests to it fail until it reads.
//
// # Why not somebody else's
//
// github.com/open-policy-agent/cert-controller, the usual choice, lists and watches Secrets, which this manager may not do.
// It replaces an authority and what it has signed in one step, and reads the certificate from a mounted volume, where it
// arrives up to a minute and a half later; requests fail in between unless the process is restarted. The overlay for
// cert-manager needs nothing of this package: the server then reads files.
package certificates

// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delay puts a proxy between an API server and a client that is to be tested with old caches: it holds back what
// watches deliver, and passes everything else on at once.
//
//	proxy, err := delay.Start(ctx, env.Config)
//	defer proxy.Close()
//	mgr, err := ctrl.NewManager(proxy.Config(), …)    // everybody else goes to the API server directly
//	proxy.Delay(5*time.Second)                        // every watch event comes five seconds late
//	proxy.Delay(time.Minute, "machines")              // those of Machines even later
//	proxy.Expire("machines")                          // watches of Machines end, and their clients have to list again
//	proxy.Delay(0)                                    // what is held back comes now, and nothing is late any more
//
// The events of one watch keep their order; between watches the order depends on their delays, as it does in life.
// What a watch sends first, in place of a list (sendInitialEvents), is held back like any other event: start a client
// without delay, and raise it once its caches are filled.
//
// The proxy listens on the loopback interface, without TLS, and gives everyone who connects the access that it was
// started with. It is for tests only.
package delay

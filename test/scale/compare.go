// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/machinist-dev/machinist/test/scale/report"
)

// compare measures our manager and the peer, one after the other. The report holds what was measured before an error.
func compare(ctx context.Context, options options) (_ *report.Report, err error) {
	scratch, err := os.MkdirTemp("", "machinist-scale-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for temporary files: %w", err)
	}
	release, err := guard(`rm -rf -- "$1"`, scratch)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(scratch))
		release()
	}()
	if options.logs == "" {
		options.logs = filepath.Join(scratch, "logs")
	}
	if err := os.MkdirAll(options.logs, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the logs: %w", err)
	}
	restore, err := logTo(filepath.Join(options.logs, "simulator.log"))
	if err != nil {
		return nil, err
	}
	defer restore()
	subjects, err := subjects(ctx, options, scratch)
	if err != nil {
		return nil, err
	}
	result := &report.Report{Time: time.Now(), Settings: options.Settings, Host: describeHost()}
	var errs []error
	for i, subject := range subjects {
		measured, kubernetes, err := measureSubject(ctx, options, subject)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", subject.name, err))
			measured.Failure = err.Error()
		}
		result.Host.Kubernetes = kubernetes
		if i == 0 {
			result.Ours = measured
		} else {
			result.Peer = &measured
		}
		if ctx.Err() != nil {
			break
		}
	}
	result.Rows = result.Figures()
	return result, errors.Join(errs...)
}

// logTo sends what the simulator and the clients in this process log to a file: standard error is for progress.
func logTo(path string) (restore func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("making a log: %w", err)
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(file)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return func() {
		klog.ClearLogger()
		_ = file.Close() // a lost line of this log matters to nobody
	}, nil
}

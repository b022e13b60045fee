// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// guardScript waits until the pipe on its standard input ends, by release or by the death of the process that holds the
// other end. Then it kills the process groups named in pids and removes the environment's files.
//
// The signals that a terminal or a CI system sends to a group do not reach it: it has a group of its own.
const guardScript = `
cat >/dev/null
for file in "$1"/pids/*; do
	read -r pid <"$file" && kill -s KILL -- "-$pid"
done 2>/dev/null
rm -rf -- "$1" "$2"
`

// guard cleans up after this process, whichever way it ends.
type guard struct {
	command *exec.Cmd
	pipe    io.Closer
	output  *bytes.Buffer
}

// startGuard guards the folder dir, the process groups that are recorded in its folder pids, and the file kubeconfig.
func startGuard(dir, kubeconfig string) (*guard, error) {
	if err := os.Mkdir(filepath.Join(dir, "pids"), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of process ids: %w", err)
	}
	//nolint:noctx // the guard has to outlive everything else
	command := exec.Command("/bin/sh", "-c", guardScript, "machinist-environment-guard", dir, kubeconfig)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Dir = "/"
	output := &bytes.Buffer{}
	command.Stderr = output
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making the pipe of the guard of the test control plane: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the guard of the test control plane: %w", err)
	}
	return &guard{command: command, pipe: pipe, output: output}, nil
}

// release makes the guard do its work now, and waits for it.
func (g *guard) release() error {
	if err := g.pipe.Close(); err != nil {
		return fmt.Errorf("releasing the guard of the test control plane: %w", err)
	}
	if err := g.command.Wait(); err != nil {
		return fmt.Errorf("removing the files of the test control plane: %w: %s", err, g.output)
	}
	return nil
}

// launcher knows where a component's binary is, and what the environment keeps about it.
type launcher struct {
	assets string // the folder of the binaries
	dir    string // the environment's folder
	logs   string // the folder of the components' logs

	open []*os.File // the logs, to close once the components have them
}

// script writes a stand-in for a component's binary, and returns its path. It leaves its process id for the guard and
// then becomes the component. envtest takes a path to start, but does not tell which process it started.
func (l *launcher) script(component string) (string, error) {
	path := filepath.Join(l.dir, component)
	content := fmt.Sprintf("#!/bin/sh\necho $$ >%s\nexec %s \"$@\"\n",
		shellQuote(filepath.Join(l.dir, "pids", component)), shellQuote(filepath.Join(l.assets, component)))
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		return "", fmt.Errorf("writing the start script of %s: %w", component, err)
	}
	return path, nil
}

// logFile opens the component's log. The component writes to the file itself, so nothing has to copy in between.
func (l *launcher) logFile(component string) (*os.File, error) {
	file, err := os.Create(l.logPath(component))
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", component, err)
	}
	l.open = append(l.open, file)
	return file, nil
}

// closeLogs closes our ends of the logs; the running components keep theirs.
func (l *launcher) closeLogs() {
	for _, file := range l.open {
		_ = file.Close() // nothing was written through it
	}
	l.open = nil
}

func (l *launcher) logPath(component string) string {
	return filepath.Join(l.logs, component+".log")
}

// logTailBytes is how much of a log an error shows: about twenty lines.
const logTailBytes = 4 << 10

// logTail returns the end of the component's log, for an error.
func (l *launcher) logTail(component string) string {
	content, err := os.ReadFile(l.logPath(component))
	if err != nil {
		return "(its log can't be read: " + err.Error() + ")"
	}
	if len(content) > logTailBytes {
		content = content[len(content)-logTailBytes:]
		if _, rest, found := bytes.Cut(content, []byte("\n")); found {
			content = rest
		}
	}
	return "the end of its log:\n" + strings.TrimSpace(string(content))
}

func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

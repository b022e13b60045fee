// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// How much a message lists. The rest is counted, so that the condition stays readable, and below its limit of 32768
// characters, whatever a Node was running.
const (
	maxPodNames    = 3
	maxFailures    = 5
	maxVolumeNames = 5
)

// Parts of messages. Cluster API's tools, and the condition Ready of the Machine, look for these very words.
const (
	budgetRefusal    = "Cannot evict pod as it would violate the pod's disruption budget."
	budgetRefusalLow = "cannot evict pod as it would violate the pod's disruption budget."
	otherFailure     = "failed to evict Pod, "
	terminatingText  = "deletionTimestamp set, but still not removed from the Node"
	waitingText      = "waiting for completion"
)

// Heading is the first line of the message about a drain, and all of it until something else is known.
func Heading(started time.Time) string {
	return fmt.Sprintf("Drain not completed yet (started at %s):", started.UTC().Format(time.RFC3339))
}

// progress is what is left after one attempt, as names of Pods.
type progress struct {
	// terminating begins with those that had been terminating before the attempt.
	terminating []string
	// failed is by the text of the failure, before it is worded for the message.
	failed                map[string][]string
	wait                  []string
	evictLater, waitLater []string
}

func (p *progress) empty() bool {
	return len(p.terminating)+len(p.failed)+len(p.wait)+len(p.evictLater)+len(p.waitLater) == 0
}

// message is empty if nothing is left.
func (p *progress) message(started time.Time) string {
	if p.empty() {
		return ""
	}
	lines := []string{Heading(started)}
	if len(p.terminating) > 0 {
		lines = append(lines, podLine(p.terminating, terminatingText))
	}
	lines = append(lines, p.failureLines()...)
	if len(p.wait) > 0 {
		lines = append(lines, podLine(p.wait, waitingText))
	}
	const after = "After above Pods have been removed from the Node, "
	if len(p.evictLater) > 0 {
		lines = append(lines, after+"the following Pods will be evicted: "+listing(p.evictLater, maxPodNames))
	}
	if len(p.waitLater) > 0 {
		lines = append(lines, after+"waiting for the following Pods to complete without eviction: "+listing(p.waitLater, maxPodNames))
	}
	return strings.Join(lines, "\n")
}

func (p *progress) failureLines() []string {
	var lines []string
	others := 0
	for i, text := range slices.Sorted(maps.Keys(p.failed)) {
		pods := p.failed[text]
		if i >= maxFailures {
			others += len(pods)
			continue
		}
		lines = append(lines, podLine(pods, failureText(text)))
	}
	switch others {
	case 0:
		return lines
	case 1:
		return append(lines, "* 1 Pod with other issues")
	default:
		return append(lines, fmt.Sprintf("* %d Pods with other issues", others))
	}
}

// failureText tells a budget that holds a Pod, which is in order, from everything else.
func failureText(text string) string {
	if details, ok := strings.CutPrefix(text, budgetRefusal); ok {
		return budgetRefusalLow + details
	}
	return otherFailure + text
}

func podLine(pods []string, text string) string {
	noun := "Pods"
	if len(pods) == 1 {
		noun = "Pod"
	}
	return fmt.Sprintf("* %s %s: %s", noun, listing(pods, maxPodNames), text)
}

// listing is the first names, and how many more there are.
func listing(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, ... (%d more)", strings.Join(names[:most], ", "), len(names)-most)
}

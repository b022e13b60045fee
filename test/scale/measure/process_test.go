// Copyright The Machinist Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof" // serves on http.DefaultServeMux, as a manager's profiler does
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestParseCPUTime(t *testing.T) {
	g := NewWithT(t)
	stat := "4711 (a (strange) name) S 1 4711 4711 0 -1 4194560 2000 0 3 0 150 25 7 8 20 0 9 0 100 1000000 300"
	g.Expect(parseCPUTime(stat)).To(Equal(1750 * time.Millisecond))
	_, err := parseCPUTime("4711 (short) S 1")
	g.Expect(err).To(MatchError(ContainSubstring("expected at least")))
	_, err = parseCPUTime("1 (x) S 1 1 1 0 -1 0 0 0 0 0 many 25")
	g.Expect(err).To(HaveOccurred())
}

func TestParseResident(t *testing.T) {
	g := NewWithT(t)
	status := "Name:\tmanager\nVmPeak:\t 1200000 kB\nVmHWM:\t  150 kB\nVmRSS:\t  100 kB\nThreads:\t9\n"
	g.Expect(parseResident(status)).To(Equal(Resident{Now: 100 << 10, Peak: 150 << 10}))
	_, err := parseResident("Name:\tkthreadd\n")
	g.Expect(err).To(MatchError(ContainSubstring("found none")))
}

func TestThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU time and resident memory are read from /proc, which is Linux's")
	}
	g := NewWithT(t)
	_, err := CPUTime(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	resident, err := ResidentMemory(os.Getpid())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resident.Now).To(BeNumerically(">", 1<<20))
	g.Expect(resident.Peak).To(BeNumerically(">=", resident.Now))
}

func TestLiveHeapGrowsByWhatIsAlive(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.DefaultServeMux)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	before, err := LiveHeap(t.Context(), address)
	g.Expect(err).NotTo(HaveOccurred())
	const size = 10 << 20
	alive := make([]byte, size)
	garbage(size)
	after, err := LiveHeap(t.Context(), address)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after - before).To(BeNumerically("~", size, 1<<20))
	runtime.KeepAlive(alive)
}

// garbage allocates what nobody needs when it returns.
func garbage(size int) { runtime.KeepAlive(make([]byte, size)) }

func TestHeapProfileWithoutStatistics(t *testing.T) {
	g := NewWithT(t)
	_, err := parseHeapAlloc(strings.NewReader("heap profile: 1: 2 [3: 4] @ heap/1048576\n"))
	g.Expect(err).To(MatchError(ContainSubstring("# HeapAlloc")))
}

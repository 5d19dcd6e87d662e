// Package redistest starts real redis-servers on loopback for tests.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a redis-server process that a test owns.
type Server struct {
	Addr string
	Port int

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a server without persistence on a free port of 127.0.0.1, with
// further arguments as on redis-server's command line. The test is skipped,
// and says so, when redis-server is not installed; with WEIR_REDIS=must in the
// environment it fails instead.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("WEIR_REDIS") == "must" {
			t.Fatal("redis-server is not installed")
		}
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	s := &Server{t: t, dir: t.TempDir(), Port: FreePort(t), args: args}
	s.Addr = fmt.Sprintf("127.0.0.1:%d", s.Port)
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// FreePort returns a port of 127.0.0.1 that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Restart starts the server, after Kill, on the same port with no data, and
// waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	args := append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(s.Port), "--save", "", "--appendonly", "no",
		"--dir", s.dir, "--protected-mode", "no"}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	// A test binary that is killed takes its servers with it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.done) }()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if answer, err := s.Do("PING"); err == nil && answer != "" {
			return
		}
		select {
		case <-s.done:
			text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server %v ended:\n%s", s.args, text)
		case <-time.After(5 * time.Millisecond): // a process that starts has no event to wait for
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("redis-server on %s does not answer", s.Addr)
		}
	}
}

// Kill ends the server at once, as kill -9 does.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	s.cmd = nil
}

// Pause stops the server with SIGSTOP: it keeps its connections and says
// nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume goes on after Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// PID returns the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Do runs one command of plain words over a connection of its own and returns
// the first line of the answer.
func (s *Server) Do(words ...string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte(strings.Join(words, " ") + "\r\n")); err != nil {
		return "", err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(buf[:n])), nil
}

// Cluster starts n primaries that share the slots, with further arguments.
func Cluster(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	nodes := make([]*Server, n)
	var addrs []string
	for i := range nodes {
		nodes[i] = Start(t, append([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
			"--cluster-port", fmt.Sprint(FreePort(t))}, args...)...)
		addrs = append(addrs, nodes[i].Addr)
	}
	create := append([]string{"--cluster", "create"}, addrs...)
	out, err := exec.Command("redis-cli", append(create, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ok := true
		for _, s := range nodes {
			info, err := s.Do("CLUSTER", "INFO")
			ok = ok && err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384")
		}
		if ok {
			return nodes
		}
		if time.Now().After(deadline) {
			t.Fatal("the cluster does not form")
		}
	}
}

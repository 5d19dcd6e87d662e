// Command fleet shows three instances of a service behind one limit: 300
// requests a second of one user, over the one Redis that they have in common.
//
//	go run ./examples/fleet
//
// It starts a redis-server on a free port, three instances as processes of
// their own, and a client that sends 900 requests a second to whichever of them.
// After 6 s it kills the server, after 12 s it starts it again: the limit stands
// throughout. With -redis ADDRESS it uses a server that runs already, and leaves
// it alone.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
)

const (
	perSecond = 300
	instances = 3
)

func main() {
	addr := flag.String("redis", "", "address of a Redis that runs already")
	listen := flag.String("instance", "", "run one instance on this address")
	lasts := flag.Duration("for", 20*time.Second, "how long to run")
	flag.Parse()
	if *listen != "" {
		log.Fatal(serve(*listen, *addr))
	}
	if err := show(*addr, *lasts); err != nil {
		log.Fatal(err)
	}
}

// serve is one instance of the service.
func serve(listen, addr string) error {
	transport, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{addr}}, fleetredis.Options{})
	if err != nil {
		return err
	}
	shared, err := fleet.New(fleet.Config{Transport: transport, Expected: instances})
	if err != nil {
		return err
	}
	e, err := engine.New(engine.Config{
		Limits: []engine.Limit{{
			Name: "api", Rate: perSecond, Per: time.Second, Burst: perSecond / 3,
			Sync: engine.Sync{Mode: engine.SyncShare},
		}},
		Secret: []byte("the same on every instance"),
		Sync:   shared,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)).With("instance", listen),
	})
	if err != nil {
		return err
	}
	defer e.Close()
	api, _ := e.Limit("api")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(e.Key(r.Header.Get("User")))}})
		defer tk.Done(engine.Success)
		if !tk.OK() {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	http.HandleFunc("/fleet", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(e.Snapshot().Fleet)
	})
	return http.ListenAndServe(listen, nil)
}

// show starts what there is to see, and prints it second by second.
func show(addr string, lasts time.Duration) error {
	var server *exec.Cmd
	start := func() error {
		_, port, _ := net.SplitHostPort(addr)
		server = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
		server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return server.Start()
	}
	own := addr == ""
	if own {
		addr = freeAddr()
		if err := start(); err != nil {
			return fmt.Errorf("redis-server: %w (install it, or name one with -redis)", err)
		}
		defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	urls := make([]string, instances)
	for i := range urls {
		listen := freeAddr()
		urls[i] = "http://" + listen
		p := exec.Command(self, "-instance", listen, "-redis", addr)
		p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := p.Start(); err != nil {
			return err
		}
		defer func() { _ = p.Process.Kill(); _ = p.Wait() }()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	fmt.Printf("%d requests a second to %d instances; the limit is %d\n", 3*perSecond, instances, perSecond)
	var admitted [instances]atomic.Int64
	go load(urls, &admitted)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for n := 1; n <= int(lasts/time.Second); n++ {
		select {
		case <-stop:
			return nil
		case <-second.C:
		}
		sum, line := int64(0), ""
		for i := range admitted {
			a := admitted[i].Swap(0)
			sum += a
			line += fmt.Sprintf("  %4d %s", a, shareOf(urls[i]))
		}
		note := ""
		switch {
		case own && n == 6:
			_ = server.Process.Kill()
			_ = server.Wait()
			note = "   redis-server is killed"
		case own && n == 12:
			if err := start(); err != nil {
				return err
			}
			note = "   redis-server is back, with nothing in it"
		}
		fmt.Printf("%2d s  admitted %4d %s%s\n", n, sum, line, note)
	}
	return nil
}

// load sends three times what is allowed, most of it to one instance.
func load(urls []string, admitted *[instances]atomic.Int64) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	for range time.Tick(time.Second / (3 * perSecond)) {
		i := min(rand.IntN(2*instances), instances) % instances
		go func() {
			req, _ := http.NewRequest(http.MethodGet, urls[i], nil)
			req.Header.Set("User", "alice")
			r, err := client.Do(req)
			if err != nil {
				return // it is still starting
			}
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				admitted[i].Add(1)
			}
		}()
	}
}

// shareOf is what an instance says of itself.
func shareOf(url string) string {
	r, err := http.Get(url + "/fleet")
	if err != nil {
		return "(starting)"
	}
	defer r.Body.Close()
	var s engine.FleetSnapshot
	if text, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(text, &s) != nil {
		return "(?)"
	}
	if s.Down > 0 {
		return "(alone)"
	}
	return fmt.Sprintf("(share %.2f)", s.Share)
}

func freeAddr() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

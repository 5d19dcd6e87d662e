package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// TestMain runs an instance instead of the tests when the binary was started as
// one.
func TestMain(m *testing.M) {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	if text := os.Getenv("WEIR_INSTANCE"); text != "" {
		var o options
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			panic(err)
		}
		o.run()
		return
	}
	os.Exit(m.Run())
}

// options are what an instance is started with.
type options struct {
	Redis, Backend       string
	Capacity, Fixed      int
	Expected             int
	Request, Grace       time.Duration
	Rate, Critical, User float64 // requests a second
	Busy                 float64 // what Rate becomes on SIGUSR1
}

// state is what an instance tells of itself, every 20 ms.
type state struct {
	At                            time.Time
	Admitted, Refused             int64
	Critical, CriticalRefused     int64
	User                          int64 // admitted by the rate limit
	Other, Quota, Base, Instances int
	Valid                         bool
	Trespass                      int64 // admitted above the base without a valid lease
}

// run is an instance: its gate guards a backend that all have in common.
func (o options) run() {
	tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{o.Redis}}, fleetredis.Options{})
	if err != nil {
		panic(err)
	}
	f, err := fleet.New(fleet.Config{Transport: tr, Expected: o.Expected,
		Reservation: fleet.Reservation{Fixed: o.Fixed, Request: o.Request, Grace: o.Grace}})
	if err != nil {
		panic(err)
	}
	e := engine.Must(engine.New(engine.Config{Limits: limit(500, time.Second, 100), Secret: secret, Sync: f, MaxEntries: 1000,
		Gate: engine.Gate{Capacity: o.Capacity, Reserve: 0.2}}))
	api, _ := e.Limit("api")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	var s state
	var critical, refusedCritical, trespass atomic.Int64
	work := func(tk *engine.Ticket) {
		if r, err := client.Get(o.Backend); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		tk.Done(engine.Success)
	}
	busy := make(chan os.Signal, 1)
	signal.Notify(busy, syscall.SIGUSR1)
	out := json.NewEncoder(os.Stdout)
	start := time.Now()
	var sent, sentCritical, sentUser float64
	told := start
	for now := range time.Tick(time.Millisecond) {
		at := now.Sub(start).Seconds()
		select {
		case <-busy:
			o.Rate = o.Busy
			sent = o.Rate * at
		default:
		}
		// After a stop the requests that would have come meanwhile do not come.
		if o.Rate*at-sent > o.Rate*0.1+5 {
			sent, sentCritical, sentUser = o.Rate*at-o.Rate*0.05, o.Critical*at, o.User*at
		}
		for ; sent < o.Rate*at; sent++ {
			tk := e.Admit(engine.Request{Class: engine.Read})
			if !tk.OK() {
				s.Refused++
				continue
			}
			s.Admitted++
			if snap := e.Snapshot(); snap.Gate.Other > snap.Fleet.Base && !snap.Fleet.LeaseValid && snap.Fleet.Instances > 0 {
				trespass.Add(1)
			}
			go work(&tk)
		}
		for ; sentCritical < o.Critical*at; sentCritical++ {
			tk := e.Admit(engine.Request{Class: engine.Critical})
			if !tk.OK() {
				refusedCritical.Add(1)
				continue
			}
			critical.Add(1)
			go work(&tk)
		}
		for ; sentUser < o.User*at; sentUser++ {
			tk := e.Admit(engine.Request{Class: engine.Critical, Claims: []engine.Claim{api.Claim(e.Key("user"))}})
			if tk.OK() {
				s.User++
			}
			tk.Done(engine.Success)
		}
		if now.Sub(told) >= 20*time.Millisecond {
			told = now
			snap := e.Snapshot()
			s.At, s.Other, s.Quota, s.Base, s.Instances, s.Valid = now, snap.Gate.Other, snap.Fleet.Quota, snap.Fleet.Base, snap.Fleet.Instances, snap.Fleet.LeaseValid
			s.Critical, s.CriticalRefused, s.Trespass = critical.Load(), refusedCritical.Load(), trespass.Load()
			if out.Encode(s) != nil {
				return // the test has ended
			}
		}
	}
}

// process is an instance in a process of its own.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	last state
}

func spawn(t *testing.T, o options) *process {
	text, err := json.Marshal(o)
	require.NoError(t, err)
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), "WEIR_INSTANCE="+string(text))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s state
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				p.mu.Lock()
				p.last = s
				p.mu.Unlock()
			}
		}
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) state() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// backend is what the instances have in common. It works on a request to the
// end, also when who sent it has died.
type backend struct {
	*httptest.Server
	mu             sync.Mutex
	running, worst int
}

func newBackend(t *testing.T, lasts time.Duration) *backend {
	b, ended := new(backend), make(chan struct{})
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.add(1)
		select {
		case <-time.After(lasts):
		case <-ended:
		}
		b.add(-1)
	}))
	t.Cleanup(func() { close(ended); b.CloseClientConnections(); b.Close() })
	return b
}

func (b *backend) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running += n
	b.worst = max(b.worst, b.running)
}

// most returns the most requests at once since the last call.
func (b *backend) most() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.worst
	b.worst = b.running
	return w
}

// watch looks every 10 ms until the time is over or done says so.
func watch(lasts time.Duration, done func() bool) bool {
	over := time.After(lasts)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return false
		case <-tick.C:
			if done() {
				return true
			}
		}
	}
}

func together(procs []*process, n int) func() bool {
	return func() bool {
		for _, p := range procs {
			if p.state().Instances != n {
				return false
			}
		}
		return true
	}
}

// Half of the instances are killed while they have borrowed, the others take
// over what they leave: never are more non-critical requests in the backend
// than its allocation. With requests that outlast what is held for them there
// are more, and the test sees it.
func TestInstancesAreKilled(t *testing.T) {
	const fixed, all = 200, 160
	for _, c := range []struct {
		service, request time.Duration
		exceeds          bool
	}{{100 * time.Millisecond, 0, false}, {8 * time.Second, time.Second, true}} {
		t.Run(fmt.Sprint(c.service), func(t *testing.T) {
			srv := redistest.Start(t)
			b := newBackend(t, c.service)
			o := options{Redis: srv.Addr, Backend: b.URL, Capacity: 200, Fixed: fixed, Expected: 6, Request: c.request, Grace: 6 * time.Second}
			busy := 2 * float64(all) / c.service.Seconds() / 3
			var hot, cold []*process
			for i := range 6 {
				if o.Rate = busy; i >= 3 {
					o.Rate, o.Busy = 1, 5*busy
				}
				if p := spawn(t, o); i < 3 {
					hot = append(hot, p)
				} else {
					cold = append(cold, p)
				}
			}
			require.True(t, watch(20*time.Second, together(append(hot, cold...), 6)), "the fleet does not come together")
			borrowed := func() bool { return b.most() > all*6/10 }
			require.True(t, watch(15*time.Second, borrowed), "the hot half borrows")
			if c.exceeds {
				watch(c.service, func() bool { return false }) // the backend fills up
			}
			for i := range hot {
				hot[i].kill()
				require.NoError(t, cold[i].cmd.Process.Signal(syscall.SIGUSR1))
			}
			killed := time.Now()
			b.most()
			worst := 0
			refilled := time.Duration(0)
			watch(9*time.Second, func() bool {
				n := b.most()
				if worst = max(worst, n); refilled == 0 && n > all*7/10 && time.Since(killed) > c.service {
					refilled = time.Since(killed)
				}
				return false
			})
			t.Logf("at most %d of %d, in use again after %v", worst, all, refilled)
			// What is measured is in the backend, a moment after it left the gate.
			require.Equal(t, c.exceeds, worst > all+2, "%d", worst)
			if !c.exceeds {
				require.NotZero(t, refilled)
				require.Less(t, refilled, 9*time.Second)
			}
		})
	}
}

// An instance is stopped for longer than its lease and goes on: it admits
// nothing above its base before it has been heard again, and its key's bucket
// gives no more than it holds.
func TestInstanceIsStopped(t *testing.T) {
	stops := 4 * time.Second
	if full() {
		stops = 10 * time.Second
	}
	srv := redistest.Start(t)
	b := newBackend(t, 200*time.Millisecond)
	o := options{Redis: srv.Addr, Backend: b.URL, Capacity: 100, Fixed: 100, Expected: 3, Rate: 1000, User: 1000}
	first := spawn(t, o)
	o.Rate = 1
	others := []*process{spawn(t, o), spawn(t, o)}
	all := append(others, first)
	require.True(t, watch(20*time.Second, together(all, 3)), "the fleet does not come together")
	require.True(t, watch(10*time.Second, func() bool { s := first.state(); return s.Valid && s.Other > s.Base+5 }), "it borrows")
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGSTOP))
	before := first.state()
	watch(stops, func() bool { return false })
	total := func() (n int64) {
		for _, p := range all {
			n += p.state().User
		}
		return n
	}
	user, at := total(), time.Now()
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGCONT))
	require.True(t, watch(10*time.Second, func() bool { s := first.state(); return s.Valid && s.At.After(before.At.Add(stops)) }))
	watch(2*time.Second, func() bool { return false })
	s := first.state()
	got, lasted := total()-user, time.Since(at)
	t.Logf("before %+v\nafter %+v\nuser admitted %d in %v", before, s, got, lasted)
	require.Zero(t, s.Trespass, "it admitted above its base on a lease that had ended")
	require.LessOrEqual(t, float64(got), 500*lasted.Seconds()+100+100)
	require.LessOrEqual(t, b.most(), 80+2+3)
}

// A flood of other requests, five times what there is, refuses no critical one.
func TestCriticalRequestsPassInAFlood(t *testing.T) {
	srv := redistest.Start(t)
	b := newBackend(t, 50*time.Millisecond)
	o := options{Redis: srv.Addr, Backend: b.URL, Capacity: 50, Fixed: 150, Expected: 3, Rate: 4000, Critical: 20}
	procs := []*process{spawn(t, o), spawn(t, o), spawn(t, o)}
	require.True(t, watch(20*time.Second, together(procs, 3)), "the fleet does not come together")
	watch(4*time.Second, func() bool { return false })
	for _, p := range procs {
		s := p.state()
		t.Logf("%+v", s)
		require.Zero(t, s.CriticalRefused)
		require.Positive(t, s.Refused)
		require.Positive(t, s.Critical)
	}
}

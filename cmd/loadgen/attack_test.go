package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// pipes is a listener whose connections are in memory, so that a real server
// and a real client run in a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A server that freezes for six of ten seconds must show in every percentile
// that counts from when a request was due, and must not stop the generator.
func TestAFrozenServerShowsInTheLatencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Millisecond)
			if at := time.Since(start); at >= 2*time.Second && at < 8*time.Second {
				time.Sleep(8*time.Second - at)
			}
		})}
		l := newPipes()
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()

		o := parsedAttack(t, "-url", "http://frozen", "-rate", "500/s", "-duration", "10s", "-timeout", "1m")
		ld, err := o.load()
		require.NoError(t, err)
		to, err := target.NewHTTP(o.url, target.HTTPOptions{Timeout: o.timeout, Dial: l.dial})
		require.NoError(t, err)
		run := newAttack(o, ld)
		drive.Run(t.Context(), ld.next, to, drive.Options{MaxInFlight: o.maxInFlight, Start: start}, func(e drive.Event) { run.add(&e) })
		run.finish(false)

		c := run.total()
		require.EqualValues(t, 5000, c.Offered)
		require.EqualValues(t, 5000, c.Served())
		require.Zero(t, c.Late)
		require.Empty(t, run.missed)
		for _, want := range []struct {
			q float64
			d time.Duration
		}{{0.5, time.Second}, {0.9, 5 * time.Second}, {0.99, 5900 * time.Millisecond}, {1, 6 * time.Second}} {
			require.InEpsilon(t, want.d, c.Response.Quantile(want.q), 0.02, "p%g", 100*want.q)
		}
		require.NoError(t, to.Close())
		require.NoError(t, srv.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
}

func parsedAttack(t *testing.T, args ...string) *attackOptions {
	t.Helper()
	fs := newFlagSet("attack", &bytes.Buffer{}, attackHelp)
	o := attackFlags(fs)
	require.NoError(t, fs.Parse(args))
	return o
}

// loadgen runs a verb as the command does.
func loadgen(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

func figuresOf(t *testing.T, file string) (f attackFigures) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

func TestAttackCountsEveryRequestOfAMix(t *testing.T) {
	var seen, charges atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		switch {
		case r.Header.Get("Authorization") != "Bearer sk_live_"+r.URL.Query().Get("user"):
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == "POST":
			charges.Add(1)
		case r.URL.Query().Get("user") == "u0":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTooManyRequests)
			w.Write([]byte(`{"layer":"rate","limit":"per_user"}`))
		}
	}))
	defer srv.Close()
	dir := t.TempDir()
	file, log := filepath.Join(dir, "a.json"), filepath.Join(dir, "a.hlog")
	code, out, stderr := loadgen(t.Context(), "attack", "-url", srv.URL, "-rate", "400/s", "-duration", "1s", "-users", "4", "-json", file, "-hlog", log,
		"-request", "critical 1 POST /pay?user={user}", "-request", "read 3 GET /list?user={user}", "-header", "Authorization: Bearer sk_live_{user}",
		"-slo", "critical>99.9%,critical.p50<10s")
	f := figuresOf(t, file)
	require.Len(t, f.Classes, 3)
	critical, read, all := f.Classes[0], f.Classes[1], f.Classes[2]
	require.EqualValues(t, 400, all.Offered)
	require.Equal(t, seen.Load(), all.Sent)
	require.Equal(t, all.Offered, all.Sent+all.AtCap+all.Behind)
	require.Equal(t, charges.Load(), critical.Served)
	require.Equal(t, read.Sent, read.Served+read.Refused[0].Count)
	require.Equal(t, "rate", read.Refused[0].Layer)
	require.InDelta(t, 100, critical.Offered, 50)
	require.Contains(t, out, "429 rate")
	if f.Valid { // on a machine that held the rate
		require.Equal(t, exitOK, code, "%s%s", out, stderr)
	}
	r, err := os.Open(log)
	require.NoError(t, err)
	defer r.Close()
	var logged int64
	for reader := hdr.NewHistogramLogReader(r); ; {
		h, err := reader.NextIntervalHistogram()
		if err != nil || h == nil {
			break
		}
		require.Contains(t, []string{"critical", "read"}, h.Tag())
		logged += h.TotalCount()
	}
	require.Equal(t, all.Served, logged, "every latency is in the log once")
}

func TestAttackMissesAnObjective(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	code, out, _ := loadgen(t.Context(), "attack", "-url", srv.URL, "-rate", "20/s", "-count", "10", "-slo", "served>50%")
	require.Equal(t, exitFail, code)
	require.Contains(t, out, "served>50%: it is 0 %")
	require.Contains(t, out, "status 404")
}

// More is asked than may be on its way: the run says so and is invalid.
func TestAttackBeyondItsCapIsInvalid(t *testing.T) {
	hold := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer srv.Close()
	defer close(hold)
	file := filepath.Join(t.TempDir(), "a.json")
	code, out, _ := loadgen(t.Context(), "attack", "-url", srv.URL, "-rate", "500/s", "-duration", "1s", "-max-in-flight", "20", "-timeout", "1s", "-json", file)
	require.Equal(t, exitFail, code)
	require.Contains(t, out, "invalid")
	f := figuresOf(t, file)
	require.False(t, f.Valid)
	all := f.Classes[len(f.Classes)-1]
	require.EqualValues(t, 500, all.Sent+all.AtCap+all.Behind)
	require.GreaterOrEqual(t, all.Sent, int64(20))
	require.Less(t, all.Sent, int64(60))
}

func TestAttackStopsWithAReport(t *testing.T) {
	var seen atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) == 20 {
			stop()
		}
	}))
	defer srv.Close()
	code, out, _ := loadgen(ctx, "attack", "-url", srv.URL, "-rate", "200/s", "-duration", "1h")
	require.NotEqual(t, exitUsage, code)
	require.Regexp(t, `stopped\s+by\s+the\s+user`, out)
	require.Contains(t, out, "from when it was due")
}

func TestAttackCallsGRPC(t *testing.T) {
	srv := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		md, _ := metadata.FromIncomingContext(s.Context())
		if err := s.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		switch {
		case method != "/shop.v1.Shop/Charge" || len(md.Get("x-user")) != 1:
			return grpcstatus.Error(codes.Unimplemented, method)
		case md.Get("x-user")[0] == "u0":
			return grpcstatus.Error(codes.ResourceExhausted, "over the limit")
		}
		return s.SendMsg(&emptypb.Empty{})
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go srv.Serve(l)
	defer srv.Stop()
	file := filepath.Join(t.TempDir(), "a.json")
	_, out, stderr := loadgen(t.Context(), "attack", "-url", "grpc://"+l.Addr().String(), "-rate", "200/s", "-count", "100", "-users", "2",
		"-request", "critical 1 POST /shop.v1.Shop/Charge", "-header", "X-User: {user}", "-json", file)
	c := figuresOf(t, file).Classes[0]
	require.EqualValues(t, 100, c.Served+c.Refused[0].Count, "%s%s", out, stderr)
	require.Positive(t, c.Served)
	require.Equal(t, int(codes.ResourceExhausted), c.Refused[0].Status)
}

func TestAttackDrivesAnEngineInThisProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	code, out, stderr := loadgen(t.Context(), "attack", "-url", "engine", "-rate", "20000/s", "-duration", "500ms", "-users", "10", "-limit", "1/h", "-burst", "7", "-json", file)
	require.NotEqual(t, exitUsage, code, stderr)
	all := figuresOf(t, file).Classes[0]
	require.EqualValues(t, 10_000, all.Offered, out)
	require.Equal(t, all.Offered, all.Sent+all.AtCap+all.Behind)
	require.EqualValues(t, 70, all.Served, "10 users, 7 each")
	require.EqualValues(t, all.Sent-70, all.Refused[0].Count)
	require.Equal(t, "rate", all.Refused[0].Layer)
}

func TestAttackRefusesNonsenseAllAtOnce(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-rate 0/s -duration -1s -users 0 -zipf 0.5 -request x -max-in-flight 0", "-duration -1s"},
		{"-rate 0/s -duration -1s -users 0 -zipf 0.5 -request x -max-in-flight 0", "-zipf 0.5"},
		{"-rate 0/s -duration -1s -users 0 -zipf 0.5 -request x -max-in-flight 0", "-request \"x\""},
		{"", "-url: missing"},
		{"-url ftp://x", "must begin with http"},
		{"-url http://x -shape wave", "-shape \"wave\""},
		{"-url http://x -shape step:5/s", "RATE@TIME"},
		{"-url http://x -shape sine:100/s@1s", "at most the mean"},
		{"-url http://x -arrivals odd", "-arrivals \"odd\""},
		{"-url http://x -replay /nowhere", "-replay"},
		{"-url http://x -slo p101<1s", "no percentile"},
		{"-url http://x -slo p99<-1s", "no latency"},
		{"-url http://x -slo best<1s", "no metric \"best\""},
		{"-url http://x -slo served>2", "no share"},
		{"-url http://x -header bad", "-header"},
		{"-url http://x extra", "unexpected argument"},
	} {
		code, _, stderr := loadgen(t.Context(), append([]string{"attack"}, strings.Fields(c.args)...)...)
		require.Equal(t, exitUsage, code, c.args)
		require.Contains(t, stderr, c.want, c.args)
	}
}

func TestLoadDrawsItsMixFromTheSeed(t *testing.T) {
	draw := func(args ...string) (paths map[string]int, users map[string]int, dues []time.Duration) {
		o := parsedAttack(t, append([]string{"-url", "http://x", "-duration", "100s", "-rate", "100/s"}, args...)...)
		l, err := o.load()
		require.NoError(t, err)
		paths, users = map[string]int{}, map[string]int{}
		for r, ok := l.next(); ok; r, ok = l.next() {
			paths[r.Path]++
			users[r.User]++
			dues = append(dues, r.Due)
		}
		return paths, users, dues
	}
	paths, users, dues := draw("-request", "read 3 GET /a", "-request", "write 1 POST /b", "-users", "10")
	require.Len(t, dues, 10_000)
	require.InDelta(t, 7500, paths["/a"], 250)
	require.InDelta(t, 1000, users["u3"], 150)
	_, again, _ := draw("-request", "read 3 GET /a", "-request", "write 1 POST /b", "-users", "10")
	require.Equal(t, users, again)
	_, zipf, _ := draw("-users", "1000", "-zipf", "1.5")
	require.Greater(t, zipf["u0"], 3000, "the first user of a Zipf distribution sends most")
	_, _, dues = draw("-shape", "step:10/s@1s,90/s@1s", "-count", "50")
	require.Len(t, dues, 50)
	require.Equal(t, time.Second, dues[10])
}

func TestLoadReplaysALogsOwnTimesAndRequests(t *testing.T) {
	log := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(log, []byte(`10.0.0.2 - - [17/May/2015:10:05:05 +0000] "POST /pay HTTP/1.1" 200 1
10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /a?x=1 HTTP/1.1" 200 1
`), 0o644))
	o := parsedAttack(t, "-url", "http://x", "-replay", log, "-speed", "2")
	l, err := o.load()
	require.NoError(t, err)
	first, ok := l.next()
	require.True(t, ok)
	require.Equal(t, [3]string{"GET", "/a?x=1", "10.0.0.1"}, [3]string{first.Method, first.Path, first.User})
	second, ok := l.next()
	require.True(t, ok)
	require.Equal(t, time.Second, second.Due)
	require.Equal(t, engine.Write, second.Class)
	_, ok = l.next()
	require.False(t, ok)
}

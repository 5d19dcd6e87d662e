package fleetredis_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// dialer connects to whatever address is held at the moment.
func dialer(at *atomic.Value) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", at.Load().(string))
	}
}

// What a server answers that is wrong is told in words that help.
func TestErrorsAreExplained(t *testing.T) {
	for answer, says := range map[string]string{
		"NOAUTH Authentication required.":                                  "wants a password",
		"WRONGPASS invalid username-password pair or user is disabled.":    "wrong user name or password",
		"ERR invalid password":                                             "wrong password",
		"NOPERM this user has no permissions to run the 'evalsha' command": "lacks a right",
		"CLUSTERDOWN The cluster is down":                                  "does not serve all slots",
		"OOM command not allowed when used memory > 'maxmemory'.":          "out of memory",
		"READONLY You can't write against a read only replica.":            "is a replica",
		"MASTERDOWN Link with MASTER is down":                              "has lost its primary",
		"LOADING Redis is loading the dataset in memory":                   "still loading",
		"MISCONF Redis is configured to save RDB snapshots":                "cannot save",
		"MOVED 3999 127.0.0.1:6381":                                        "belongs to a cluster",
	} {
		// A server of two lines, which answers everything so.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				buf := make([]byte, 4096)
				for err == nil {
					if _, err = c.Read(buf); err == nil {
						_, err = c.Write([]byte("-" + answer + "\r\n"))
					}
				}
				_ = c.Close()
			}
		}()
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{l.Addr().String()}, Protocol: 2}, fleetredis.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		r := tr.Check(ctx, time.Now())
		cancel()
		require.ErrorContains(t, r.Err, says)
		require.ErrorContains(t, r.Err, answer[:6])
		require.NoError(t, tr.Close())
		require.NoError(t, l.Close())
		<-ended
	}
}

// A wrong password is told of, and a right one is used.
func TestWrongPassword(t *testing.T) {
	srv := redistest.Start(t, "--requirepass", "right")
	for password, says := range map[string]string{"right": "", "wrong": "password"} {
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}, Password: password}, fleetredis.Options{})
		require.NoError(t, err)
		r := tr.Check(context.Background(), time.Now())
		if says == "" {
			require.NoError(t, r.Err)
		} else {
			require.ErrorContains(t, r.Err, says)
		}
		require.NoError(t, tr.Close())
	}
}

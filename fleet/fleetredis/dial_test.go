package fleetredis_test

import (
	"context"
	"net"
	"sync/atomic"
)

// dialer connects to whatever address is held at the moment.
func dialer(at *atomic.Value) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", at.Load().(string))
	}
}

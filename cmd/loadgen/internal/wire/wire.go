package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Link forwards connections to a server. Its methods are safe for concurrent
// use.
type Link struct {
	l     net.Listener
	to    string
	delay atomic.Int64

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

// Listen returns a Link to the server at the address, on a free port of the
// loopback interface. It does not connect until a client does.
func Listen(to string) (*Link, error) {
	if _, _, err := net.SplitHostPort(to); err != nil {
		return nil, fmt.Errorf("wire: address %q: %w", to, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	k := &Link{l: l, to: to, conns: map[net.Conn]struct{}{}}
	k.wg.Go(k.accept)
	return k, nil
}

// Addr is where clients connect to.
func (k *Link) Addr() string { return k.l.Addr().String() }

// Delay holds back every answer by d, from now on.
func (k *Link) Delay(d time.Duration) { k.delay.Store(int64(d)) }

// Cut ends all connections and refuses new ones.
func (k *Link) Cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = true
	for c := range k.conns {
		c.Close()
	}
}

// Mend lets connections through again.
func (k *Link) Mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = false
}

// Close ends everything.
func (k *Link) Close() error {
	err := k.l.Close()
	k.Cut()
	k.wg.Wait()
	return err
}

func (k *Link) accept() {
	for {
		client, err := k.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of files, most likely
			continue
		}
		if !k.keep(client) {
			client.Close()
			continue
		}
		k.wg.Go(func() { k.serve(client) })
	}
}

// keep notes an open connection, unless the link is cut.
func (k *Link) keep(c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cut {
		return false
	}
	k.conns[c] = struct{}{}
	return true
}

func (k *Link) drop(c net.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.conns, c)
	c.Close()
}

// serve carries one connection until either end closes it.
func (k *Link) serve(client net.Conn) {
	defer k.drop(client)
	server, err := net.DialTimeout("tcp", k.to, 5*time.Second)
	if err != nil {
		return
	}
	if !k.keep(server) {
		server.Close()
		return
	}
	defer k.drop(server)
	k.wg.Go(func() {
		_, _ = io.Copy(server, client) // the end of one is the end of both
		k.drop(server)
		k.drop(client)
	})
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if n > 0 {
			time.Sleep(time.Duration(k.delay.Load()))
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Package app is what the examples share: a service that comes up under a
// policy file and follows its changes.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// Service is a service before it is guarded.
type Service struct {
	Mux     *http.ServeMux
	Policy  []policy.Option   // what the policy needs of the code
	Door    []weirhttp.Option // what the transport needs of it
	Outside func(http.Handler) http.Handler
}

// Guarded is a service under a policy.
type Guarded struct {
	http.Handler
	Engine *engine.Engine
	Bound  *policy.Bound
}

// Guard puts the service under the policy file at path. This is all there is to
// adopting weir: a policy, an engine, a middleware.
func (s Service) Guard(path string, base engine.Config) (*Guarded, error) {
	p, err := policy.Load(path, append(s.Policy, policy.Base(base))...)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(p.Config())
	if err != nil {
		return nil, err
	}
	b, err := policy.New(e, p)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	door := append([]weirhttp.Option{
		weirhttp.Mux(s.Mux),          // routes are the mux's patterns
		weirhttp.Logger(base.Logger), // faults of its own
	}, s.Door...)
	h := weirhttp.Handler(e, b, door...)(s.Mux)
	if s.Outside != nil {
		h = s.Outside(h)
	}
	return &Guarded{Handler: h, Engine: e, Bound: b}, nil
}

// Main serves until it is interrupted.
func (s Service) Main() {
	if err := s.main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s Service) main() error {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	path := flag.String("policy", "policy.yaml", "policy file; changes are followed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	g, err := s.Guard(*path, engine.Config{Logger: slog.Default()})
	if err != nil {
		return err
	}
	watched := make(chan error, 1)
	go func() { watched <- policy.Watch(ctx, *path, g.Bound) }()

	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", ln.Addr())
	srv := &http.Server{Handler: g, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err = <-served:
	case err = <-watched:
	case <-ctx.Done():
	}
	stop()
	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, srv.Shutdown(end), g.Engine.Close())
}

package fakegithub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server serves a Fake on a socket of this machine.
type Server struct {
	URL  string // http://127.0.0.1:PORT, for API and browser
	http *http.Server
	done chan error
}

// Serve listens on addr, or on any free port of the loopback if addr is "".
func Serve(f *Fake, addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("fakegithub: %w", err)
	}
	s := &Server{URL: "http://" + l.Addr().String(), http: &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}, done: make(chan error, 1)}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Close ends the server and waits for it.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

package github

import (
	"bufio"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// enterprise is a GitHub Enterprise Server with a certificate of its own authority.
func enterprise(t *testing.T) (base string, ca []byte) {
	t.Helper()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v3/repos/acme/shop" || r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, `{"message":"Not Found"}`, http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"id":7,"full_name":"acme/shop","owner":{"login":"acme"},"default_branch":"main","permissions":{"push":true}}`)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/api/v3/", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
}

func over(t *testing.T, base string, ca []byte, proxy string) *Client {
	t.Helper()
	net, err := Network(ca, proxy)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(slog.New(slog.DiscardHandler), Options{BaseURL: base, Token: token, Transport: net})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A server whose certificate a private authority signed is spoken to with that authority, and not without.
func TestPrivateAuthority(t *testing.T) {
	base, ca := enterprise(t)
	_, err := over(t, base, nil, "").Repo(t.Context(), "acme/shop")
	if e := kindOf(t, err); e.Kind != Unknown || !strings.Contains(e.Message, "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	r, err := over(t, base, ca, "").Repo(t.Context(), "acme/shop")
	if err != nil || r.ID != 7 || !r.CanPush {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := Network([]byte("-----BEGIN NONSENSE-----"), ""); err == nil {
		t.Error("authorities without a certificate")
	}
}

// A proxy is asked for a tunnel, and sees neither token nor address of a call.
func TestProxy(t *testing.T) {
	base, ca := enterprise(t)
	var tunnels atomic.Int32
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go tunnel(conn, &tunnels)
		}
	}()
	// A proxy is left out for loopback only where the environment names it: one that was configured is always used.
	r, err := over(t, base, ca, "http://"+l.Addr().String()).Repo(t.Context(), "acme/shop")
	if err != nil || r.ID != 7 || tunnels.Load() != 1 {
		t.Errorf("%+v %v through %d tunnels", r, err, tunnels.Load())
	}
	if _, err := Network(nil, "proxy without scheme"); err == nil {
		t.Error("an address that is none")
	}
}

// tunnel is a proxy that carries one connection.
func tunnel(conn net.Conn, tunnels *atomic.Int32) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || req.Method != http.MethodConnect || req.Header.Get("Authorization") != "" {
		return
	}
	to, err := net.Dial("tcp", req.Host)
	if err != nil {
		return
	}
	defer to.Close()
	tunnels.Add(1)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, conn); to.Close() }()
	_, _ = io.Copy(conn, to)
}

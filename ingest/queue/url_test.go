package queue

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// team starts a NATS server as a team would run it, listening on loopback.
func team(t testing.TB, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("server does not start")
	}
	return s
}

func TestByURL(t *testing.T) {
	s := team(t, server.Options{JetStream: true, Username: "pawl", Password: "secret"})
	url := strings.Replace(s.ClientURL(), "nats://", "nats://pawl:secret@", 1)
	q := open(t, Options{URL: url, Prefix: "team-a"})
	if q.Partitions() != 64 {
		t.Fatalf("%d partitions by default", q.Partitions())
	}
	if q.MaxBody() != 1<<20-headerReserve {
		t.Fatalf("max body %d is not the server's", q.MaxBody())
	}
	for p := range 64 {
		if err := q.Publish(t.Context(), p, Logs, fmt.Appendf(nil, "to %d", p)); err != nil {
			t.Fatal(err)
		}
	}
	second := open(t, Options{URL: url, Prefix: "team-a"}) // several pawls share a cluster
	for p := range 64 {
		if got := readAll(t, second, p, 1); !slices.Equal(got, []string{fmt.Sprintf("to %d", p)}) {
			t.Fatalf("partition %d holds %q", p, got)
		}
	}
	_, err := Open(t.Context(), logger(t), Options{URL: s.ClientURL()})
	wantError(t, err, "Authorization Violation", "credentials")
}

func TestByURLWithoutJetStream(t *testing.T) {
	s := team(t, server.Options{})
	_, err := Open(t.Context(), logger(t), Options{URL: s.ClientURL()})
	wantError(t, err, "enable JetStream")
}

func TestByURLSmallPayload(t *testing.T) {
	s := team(t, server.Options{JetStream: true, MaxPayload: 4 << 10})
	_, err := Open(t.Context(), logger(t), Options{URL: s.ClientURL()})
	wantError(t, err, "max_payload of 4096", "8 MiB")
}

// TestServerRestart stops the team's server under a reader and a publisher and starts it again on the same store and port.
func TestServerRestart(t *testing.T) {
	o := server.Options{JetStream: true, StoreDir: t.TempDir()}
	s := team(t, o)
	q := open(t, Options{URL: s.ClientURL(), Partitions: 1})
	publish(t, q, "1", "2")
	next := uint64(1)
	for m, err := range q.Read(t.Context(), 0, 1) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Seq != next {
			t.Fatalf("read %d, want %d", m.Seq, next)
		}
		next++
		switch m.Seq {
		case 2:
			o.Port = s.Addr().(*net.TCPAddr).Port
			s.Shutdown()
			s.WaitForShutdown()
			err := q.Publish(t.Context(), 0, Traces, []byte("lost"))
			if _, ok := errors.AsType[*UnavailableError](err); !ok {
				t.Fatalf("publish to a stopped server: %v", err)
			}
			team(t, o)
			for q.Publish(t.Context(), 0, Traces, []byte("3")) != nil {
				time.Sleep(10 * time.Millisecond)
			}
		case 3:
			return
		}
	}
}

// certificate writes a self-signed certificate for loopback and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pawl"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, priv.Public(), priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func TestByURLWithMutualTLS(t *testing.T) {
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	s := team(t, server.Options{JetStream: true, TLSVerify: true, TLSTimeout: 5, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
	q := open(t, Options{URL: s.ClientURL(), Partitions: 1, Access: Access{CA: cert, Cert: cert, Key: key}})
	publish(t, q, "sealed")
	_, err = Open(t.Context(), logger(t), Options{URL: s.ClientURL()})
	wantError(t, err, "TLS files")
	_, err = Open(t.Context(), logger(t), Options{URL: s.ClientURL(), Access: Access{CA: filepath.Join(t.TempDir(), "none.pem")}})
	wantError(t, err, "none.pem")
}

// TestCluster runs three servers, publishes and reads through all of them, and stops the one that a client is connected to.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	servers := cluster(t)
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	q := open(t, Options{URL: strings.Join(urls, ","), Partitions: 2, PublishTimeout: 2 * time.Second})
	if r := q.spans[0].stream.CachedInfo().Config.Replicas; r != 3 {
		t.Fatalf("%d replicas in a cluster", r)
	}
	var mu sync.Mutex
	acked := map[string]bool{}
	send := func(round string) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				b := fmt.Sprintf("%s-%d", round, i)
				for q.Publish(t.Context(), i%2, Traces, []byte(b)) != nil {
					time.Sleep(50 * time.Millisecond)
				}
				mu.Lock()
				acked[b] = true
				mu.Unlock()
			})
		}
		wg.Wait()
	}
	send("before")
	ours := q.conn.ConnectedServerId()
	for _, s := range servers {
		if s.ID() == ours {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	send("after")
	for p := range 2 {
		for m, err := range q.Read(t.Context(), p, 1) {
			if err != nil {
				t.Fatal(err)
			}
			for r := range m.Requests() {
				delete(acked, string(r))
			}
			if m.Pending == 0 {
				break
			}
		}
	}
	if len(acked) != 0 {
		t.Fatalf("%d acknowledged bodies are lost: %v", len(acked), acked)
	}
}

// cluster starts three servers that know one another.
func cluster(t *testing.T) (servers []*server.Server) {
	t.Helper()
	var ports []int
	var routes []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
		l.Close()
	}
	for i := range 3 {
		servers = append(servers, team(t, server.Options{
			ServerName: fmt.Sprint("n", i), JetStream: true, Routes: server.RoutesFromStr(strings.Join(routes, ",")),
			Cluster: server.ClusterOpts{Name: "team", Host: "127.0.0.1", Port: ports[i]},
		}))
	}
	nc, err := nats.Connect(servers[2].ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := nc.JetStream(nats.MaxWait(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for { // until the three have a leader
		_, err := js.AddStream(&nats.StreamConfig{Name: "PROBE", Subjects: []string{"probe"}, Replicas: 3})
		if err == nil {
			return servers
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

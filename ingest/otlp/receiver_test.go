package otlp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

func TestOpenListenersAreRefused(t *testing.T) {
	for _, tc := range []struct {
		addr string
		opt  Options
		ok   bool
	}{
		{"127.0.0.1:0", Options{}, true}, {"localhost:0", Options{}, true}, {"[::1]:0", Options{}, true},
		{":0", Options{}, false}, {"0.0.0.0:0", Options{}, false}, {"10.1.2.3:4317", Options{}, false},
		{":0", Options{Tokens: []string{"t"}}, true}, {":0", Options{Insecure: true}, true},
		{":0", Options{TLS: &tls.Config{}}, false}, {":0", Options{TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert}}, true},
		{"nonsense", Options{}, false},
	} {
		if err := tc.opt.guarded(tc.addr); (err == nil) != tc.ok {
			t.Errorf("%s %+v: %v", tc.addr, tc.opt, err)
		}
	}
	_, err := New(slog.New(slog.DiscardHandler), nil, Options{HTTP: ":0"})
	if err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("error %v", err)
	}
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = New(slog.New(slog.DiscardHandler), nil, Options{GRPC: "127.0.0.1:0", HTTP: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %v", err)
	}
}

func TestStopBeforeStart(t *testing.T) {
	r, err := New(slog.New(slog.DiscardHandler), nil, Options{GRPC: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	at, none := r.Addr()
	if err := r.Stop(t.Context()); err != nil || none != "" {
		t.Errorf("%v %q", err, none)
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		conn.Close()
		t.Error("still listening")
	}
}

// TestStopIsBounded holds a request in Publish: Stop waits for it no longer than its context.
func TestStopIsBounded(t *testing.T) {
	inside := make(chan struct{}, 2)
	publish := func(ctx context.Context, _ wire.Batch) error {
		inside <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	r, err := New(slog.New(slog.DiscardHandler), publish, Options{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	conn := dial(t, r, nil)
	done := make(chan error, 2)
	go func() { done <- sendRaw(context.Background(), conn, requestProto(t, requestJSON(1, 1), wire.Traces)) }()
	go func() {
		res, err := http.Post("http://"+r.httpAt.Addr().String()+"/v1/traces", "application/json", strings.NewReader(requestJSON(1, 1)))
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	<-inside
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop: %v", err)
	}
	for range 2 {
		if err := <-done; err == nil {
			t.Error("a request that was cut off succeeded")
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// authority signs certificates and writes them as PEM files.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.issue(t, "ca")
	return a
}

// issue makes a certificate for 127.0.0.1, signed by the authority, or by itself for the first.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if a.cert == nil {
		a.cert, a.key = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if template.IsCA {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, name+".crt", "CERTIFICATE", der), a.write(t, name+".key", "PRIVATE KEY", raw)
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// client is a client's configuration, with its own certificate where a name is given.
func (a *authority) client(t *testing.T, name string) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.cert)
	if name != "" {
		pair, err := tls.LoadX509KeyPair(a.issue(t, name))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func TestTLSAndClientCertificates(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "server")
	for _, tc := range []struct {
		name, clientCA string
		client         *tls.Config
		ok             bool
	}{
		{"TLS", "", a.client(t, ""), true},
		{"mTLS", filepath.Join(a.dir, "ca.crt"), a.client(t, "exporter"), true},
		{"mTLS without a certificate", filepath.Join(a.dir, "ca.crt"), a.client(t, ""), false},
		{"mTLS of another authority", filepath.Join(a.dir, "ca.crt"), mixed(a.client(t, ""), newAuthority(t).client(t, "stranger")), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, err := LoadTLS(cert, key, tc.clientCA)
			if err != nil {
				t.Fatal(err)
			}
			r, s := start(t, Options{TLS: config})
			if _, err := coltrace.NewTraceServiceClient(dial(t, r, tc.client)).Export(t.Context(), traceRequest(t, 1, 1)); (err == nil) != tc.ok {
				t.Errorf("gRPC: %v", err)
			}
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: tc.client}}
			defer client.CloseIdleConnections()
			res, err := client.Post("https://"+r.httpAt.Addr().String()+"/v1/traces", "application/json", strings.NewReader(requestJSON(2, 2)))
			if (err == nil) != tc.ok {
				t.Errorf("HTTP: %v", err)
			}
			if err == nil {
				res.Body.Close()
			}
			if want := map[bool]int{true: 2}[tc.ok]; len(s.batches) != want {
				t.Errorf("%d batches, want %d", len(s.batches), want)
			}
		})
	}
}

// mixed trusts as one configuration does and shows the certificates of the other.
func mixed(trust, show *tls.Config) *tls.Config {
	trust.Certificates = show.Certificates
	return trust
}

func TestLoadTLSNamesTheFile(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "server")
	for _, tc := range []struct{ cert, key, ca, want string }{
		{"missing.crt", key, "", "missing.crt"}, {cert, key, "missing.ca", "missing.ca"}, {cert, key, key, "no certificate"},
	} {
		if _, err := LoadTLS(tc.cert, tc.key, tc.ca); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// TestRealExporters sends spans with the exporters that senders use.
func TestRealExporters(t *testing.T) {
	r, s := start(t, Options{})
	overGRPC, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(r.grpcAt.Addr().String()), otlptracegrpc.WithCompressor("gzip"))
	if err != nil {
		t.Fatal(err)
	}
	overHTTP, err := otlptracehttp.New(t.Context(), otlptracehttp.WithInsecure(), otlptracehttp.WithEndpoint(r.httpAt.Addr().String()), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		t.Fatal(err)
	}
	for _, exporter := range []sdk.SpanExporter{overGRPC, overHTTP} {
		provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter))
		ctx, root := provider.Tracer("test").Start(t.Context(), "invoke_agent")
		_, child := provider.Tracer("test").Start(ctx, "chat")
		child.End()
		root.End()
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := s.spans(t); len(got) != 4 {
		t.Errorf("stored %v", got)
	}
}

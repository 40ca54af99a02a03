package github

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// Network makes a way to GitHub: ca are further authorities (PEM) beside the system's, proxy is the address of a proxy; both may be empty, and then the
// system's authorities and the environment's proxy (HTTPS_PROXY, NO_PROXY) hold. Certificates are always checked.
func Network(ca []byte, proxy string) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 1 << 20
	if len(ca) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("github: the system's certificates: %w", err)
		}
		if !pool.AppendCertsFromPEM(ca) {
			return nil, errors.New("github: no certificate in PEM form is among the authorities")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			return nil, errors.New("github: the proxy is not an address such as http://proxy.example.com:3128")
		}
		t.Proxy = http.ProxyURL(u)
	}
	return t, nil
}

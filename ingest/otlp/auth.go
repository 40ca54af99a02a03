package otlp

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

// tokens are the digests of the bearer tokens let in; none lets everybody in.
type tokens [][sha256.Size]byte

func newTokens(plain []string) tokens {
	var t tokens
	for _, token := range plain {
		t = append(t, sha256.Sum256([]byte(token)))
	}
	return t
}

// admit checks an Authorization header in time that depends on neither the token shown nor which one it equals.
func (t tokens) admit(header string) bool {
	if len(t) == 0 {
		return true
	}
	scheme, shown, _ := strings.Cut(header, " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(shown)))
	found := 0
	for _, token := range t {
		found |= subtle.ConstantTimeCompare(digest[:], token[:])
	}
	return found == 1 && strings.EqualFold(scheme, "Bearer")
}

// LoadTLS makes the configuration of a server from PEM files: its certificate and key, and, where clientCA is not empty,
// the authorities one of which must have signed the certificate that every client must show.
func LoadTLS(cert, key, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls certificate %s with key %s: %w", cert, key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, fmt.Errorf("tls client CA: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls client CA %s: no certificate in PEM form found", clientCA)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Delivery is one request of a sender, its body as the bytes that came.
type Delivery struct {
	Header http.Header
	Query  url.Values
	Body   []byte
}

// maxSignatures bounds how many signatures of one delivery are tried: senders that rotate send two.
const maxSignatures = 16

// The reasons for which a delivery is not authentic; each is answered with 401 and none says more than this.
var (
	// ErrUnsigned says that the delivery carries no signature or token where its sender puts one.
	ErrUnsigned = errors.New("no signature or token")
	// ErrSignature says that no signature or token of the delivery fits any of the secrets.
	ErrSignature = errors.New("the signature or token does not fit")
	// ErrStale says that the signed time is too far from now.
	ErrStale = errors.New("the signed time is too far from now")
)

// Scheme is how a sender proves that a delivery is its own. The zero value proves nothing and is refused by NewVerifier.
type Scheme struct {
	// Name in messages.
	Name string
	// Tolerance between the signed time and now, both ways; used where the scheme signs a time.
	Tolerance time.Duration

	read func(Delivery) proof                 // what the delivery claims
	key  func(secret string) (checker, error) // how a secret checks a claim
}

// proof is what a delivery says for itself.
type proof struct {
	signed     []byte   // the bytes that are signed; nil for a token
	signatures [][]byte // decoded, or the token itself
	timed      bool     // the time is part of what is signed
	at         time.Time
}

// checker tells whether a signature was made of these bytes, in constant time.
type checker func(signed, signature []byte) bool

// Verifier holds a scheme and all secrets that may be in use.
type Verifier struct {
	scheme Scheme
	checks []checker
}

// NewVerifier takes at least one secret, several while they are rotated. An empty secret, or one that the scheme cannot use, is an
// error of the configuration: it never means that anything is accepted.
func NewVerifier(s Scheme, secrets ...string) (*Verifier, error) {
	if s.read == nil || s.key == nil {
		return nil, errors.New("webhook: no scheme of proof is named")
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("webhook: %s has no secret: set one, as the sender has it", s.Name)
	}
	v := &Verifier{scheme: s}
	for _, secret := range secrets {
		if strings.TrimSpace(secret) == "" {
			return nil, fmt.Errorf("webhook: %s has an empty secret, which would prove nothing", s.Name)
		}
		check, err := s.key(secret)
		if err != nil {
			return nil, fmt.Errorf("webhook: the secret of %s: %w", s.Name, err)
		}
		v.checks = append(v.checks, check)
	}
	return v, nil
}

// Verify returns nil if one of the delivery's signatures fits one of the secrets and the signed time, where there is one, is
// near now; else ErrUnsigned, ErrSignature or ErrStale. Every signature is held against every secret, so the time that it takes
// does not tell which one fits.
func (v *Verifier) Verify(d Delivery, now time.Time) error {
	p := v.scheme.read(d)
	if len(p.signatures) == 0 {
		return ErrUnsigned
	}
	fits := 0
	for _, sig := range p.signatures[:min(len(p.signatures), maxSignatures)] {
		for _, check := range v.checks {
			if check(p.signed, sig) {
				fits++
			}
		}
	}
	if fits == 0 {
		return ErrSignature
	}
	if p.timed && v.scheme.Tolerance > 0 && now.Sub(p.at).Abs() > v.scheme.Tolerance {
		return ErrStale
	}
	return nil
}

// rawKey takes the secret's characters as the key.
func rawKey(secret string) (checker, error) { return hmacChecker([]byte(secret)), nil }

func hmacChecker(key []byte) checker {
	return func(signed, signature []byte) bool {
		h := hmac.New(sha256.New, key)
		h.Write(signed)
		return hmac.Equal(h.Sum(nil), signature)
	}
}

// standardKey is the key of Standard Webhooks: base64 after whsec_ for v1, a public ed25519 key after whpk_ for v1a.
func standardKey(secret string) (checker, error) {
	if public, ok := strings.CutPrefix(secret, "whpk_"); ok {
		key, err := base64.StdEncoding.DecodeString(public)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, errors.New("what follows whpk_ is not an ed25519 key in base64")
		}
		return func(signed, signature []byte) bool {
			return len(signature) == ed25519.SignatureSize && ed25519.Verify(key, signed, signature)
		}, nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return nil, errors.New("it is not whsec_ and base64")
	}
	return hmacChecker(key), nil
}

// tokenKey compares digests, so that the time does not tell the length either.
func tokenKey(secret string) (checker, error) {
	want := sha256.Sum256([]byte(secret))
	return func(_, token []byte) bool {
		got := sha256.Sum256(token)
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}, nil
}

// listed reads the signatures of a list that begin with prefix, each at most once decoded. What does not decode is no signature.
func listed(values []string, sep, prefix string, decode func(string) ([]byte, error)) (out [][]byte) {
	for _, v := range values {
		items := []string{v}
		if sep != "" {
			items = strings.Split(v, sep)
		}
		for _, item := range items {
			text, ok := strings.CutPrefix(strings.TrimSpace(item), prefix)
			if !ok || len(out) >= maxSignatures {
				continue
			}
			if sig, err := decode(text); err == nil && len(sig) > 0 {
				out = append(out, sig)
			}
		}
	}
	return out
}

func unhex(s string) ([]byte, error)    { return hex.DecodeString(s) }
func unbase64(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }

// seconds reads a Unix time in seconds. One that is none makes the delivery stale, for nothing says when it was signed.
func seconds(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

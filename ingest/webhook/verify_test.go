package webhook_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/ingest/webhook"
)

var signedAt = time.Unix(1614265330, 0)

func verifier(t *testing.T, s webhook.Scheme, secrets ...string) *webhook.Verifier {
	t.Helper()
	v, err := webhook.NewVerifier(s, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mac(key, message string) []byte {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(message))
	return h.Sum(nil)
}

func hexMAC(key, message string) string { return hex.EncodeToString(mac(key, message)) }

// The senders' own published vectors.
func TestPublishedVectors(t *testing.T) {
	gh := webhook.Delivery{Body: []byte("Hello, World!"), Header: http.Header{}}
	gh.Header.Set("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
	if err := verifier(t, webhook.GitHub(), "It's a Secret to Everybody").Verify(gh, time.Now()); err != nil {
		t.Error("github:", err)
	}
	sw := webhook.Delivery{Body: []byte(`{"test": 2432232314}`), Header: http.Header{}}
	sw.Header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	sw.Header.Set("webhook-timestamp", "1614265330")
	sw.Header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	key := "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	if err := verifier(t, webhook.StandardWebhooks(), key).Verify(sw, signedAt); err != nil {
		t.Error("standard webhooks:", err)
	}
}

// scheme is one way of proof, with a delivery that a sender of it would make.
type scheme struct {
	name   string
	scheme webhook.Scheme
	secret string
	other  string // another valid secret
	make   func(secret string) webhook.Delivery
	timed  bool
	token  bool // proves the sender only, not the body
}

const body = `{"a":1,"shared_secret":"hunter2-hunter2"}`

func delivery(pairs ...string) webhook.Delivery {
	d := webhook.Delivery{Header: http.Header{}, Query: url.Values{}, Body: []byte(body)}
	for i := 0; i < len(pairs); i += 2 {
		d.Header.Set(pairs[i], pairs[i+1])
	}
	return d
}

func schemes() []scheme {
	at := strconv.FormatInt(signedAt.Unix(), 10)
	whsec := func(text string) string { return "whsec_" + base64.StdEncoding.EncodeToString([]byte(text)) }
	raw := func(secret string) string {
		b, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		return string(b)
	}
	b64 := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	return []scheme{
		{"github", webhook.GitHub(), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-Hub-Signature-256", "sha256="+hexMAC(s, body))
		}, false, false},
		{"sentry", webhook.Sentry(), "one", "two", func(s string) webhook.Delivery {
			return delivery("Sentry-Hook-Signature", hexMAC(s, body))
		}, false, false},
		{"pagerduty", webhook.PagerDuty(), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-PagerDuty-Signature", "v1="+hexMAC("an older key", body)+",v1="+hexMAC(s, body))
		}, false, false},
		{"langfuse", webhook.Langfuse(), "lf-whsec_one", "lf-whsec_two", func(s string) webhook.Delivery {
			return delivery("x-langfuse-signature", "t="+at+",v1="+hexMAC(s, at+"."+body))
		}, true, false},
		{"standard webhooks", webhook.StandardWebhooks(), whsec("one"), whsec("two"), func(s string) webhook.Delivery {
			return delivery("webhook-id", "m1", "webhook-timestamp", at, "webhook-signature", "v1,"+b64(mac(raw(s), "m1."+at+"."+body)))
		}, true, false},
		{"mlflow", webhook.MLflow(), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-MLflow-Delivery-Id", "m1", "X-MLflow-Timestamp", at, "X-MLflow-Signature", "v1,"+b64(mac(s, "m1."+at+"."+body)))
		}, true, false},
		{"grafana", webhook.Grafana(""), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-Grafana-Alerting-Signature", hexMAC(s, body))
		}, false, false},
		{"grafana with time", webhook.Grafana("X-Time"), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-Time", at, "X-Grafana-Alerting-Signature", hexMAC(s, at+":"+body))
		}, true, false},
		{"bearer", webhook.Bearer("opik"), "one", "two", func(s string) webhook.Delivery { return delivery("Authorization", "bearer "+s) }, false, true},
		{"basic", webhook.Basic("elastic"), "user:one", "user:two", func(s string) webhook.Delivery {
			return delivery("Authorization", "Basic "+b64([]byte(s)))
		}, false, true},
		{"header", webhook.HeaderToken("honeycomb", "X-Honeycomb-Webhook-Token"), "one", "two", func(s string) webhook.Delivery {
			return delivery("X-Honeycomb-Webhook-Token", s)
		}, false, true},
		{"query", webhook.QueryToken("langsmith", "secret"), "one", "two", func(s string) webhook.Delivery {
			d := delivery()
			d.Query.Set("secret", s)
			return d
		}, false, true},
		{"field", webhook.FieldToken("honeycomb", "/shared_secret"), "one", "two", func(s string) webhook.Delivery {
			d := delivery()
			d.Body = []byte(`{"x":[{"shared_secret":"no"}],"shared_secret":"` + s + `"}`)
			return d
		}, false, true},
		{"header or query", webhook.AnyOf("langsmith", webhook.HeaderToken("", "X-Pawl-Token"), webhook.QueryToken("", "secret")), "one", "two",
			func(s string) webhook.Delivery { return delivery("X-Pawl-Token", s) }, false, true},
	}
}

func TestEveryScheme(t *testing.T) {
	for _, c := range schemes() {
		t.Run(c.name, func(t *testing.T) {
			v := verifier(t, c.scheme, c.secret)
			if err := v.Verify(c.make(c.secret), signedAt); err != nil {
				t.Fatal("authentic:", err)
			}
			if err := v.Verify(c.make(c.other), signedAt); !errors.Is(err, webhook.ErrSignature) {
				t.Error("another secret:", err)
			}
			if err := verifier(t, c.scheme, c.other, c.secret).Verify(c.make(c.secret), signedAt); err != nil {
				t.Error("while rotated:", err)
			}
			bare := delivery()
			bare.Body = []byte(`{}`)
			if err := v.Verify(bare, signedAt); !errors.Is(err, webhook.ErrUnsigned) {
				t.Error("unsigned:", err)
			}
			if !c.token {
				everyFlippedBit(t, v, c.make(c.secret))
			}
			for _, late := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
				if err := v.Verify(c.make(c.secret), signedAt.Add(late)); c.timed != errors.Is(err, webhook.ErrStale) {
					t.Errorf("%s late: %v", late, err)
				}
			}
		})
	}
}

func everyFlippedBit(t *testing.T, v *webhook.Verifier, d webhook.Delivery) {
	t.Helper()
	for i := range d.Body {
		for bit := range 8 {
			d.Body[i] ^= 1 << bit
			if err := v.Verify(d, signedAt); !errors.Is(err, webhook.ErrSignature) {
				t.Fatalf("byte %d, bit %d flipped: %v", i, bit, err)
			}
			d.Body[i] ^= 1 << bit
		}
	}
}

// A time that was changed after signing does not make an old delivery new.
func TestTimeIsSigned(t *testing.T) {
	for _, c := range schemes() {
		if !c.timed {
			continue
		}
		d, now := c.make(c.secret), signedAt.Add(3*time.Hour)
		for name, values := range d.Header {
			d.Header[name] = []string{strings.ReplaceAll(values[0], strconv.FormatInt(signedAt.Unix(), 10), strconv.FormatInt(now.Unix(), 10))}
		}
		if err := verifier(t, c.scheme, c.secret).Verify(d, now); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestPublicKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.FormatInt(signedAt.Unix(), 10)
	d := delivery("webhook-id", "m1", "webhook-timestamp", at)
	d.Header.Set("webhook-signature", "v1,AAAA v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(private, []byte("m1."+at+"."+body))))
	v := verifier(t, webhook.StandardWebhooks(), "whpk_"+base64.StdEncoding.EncodeToString(public))
	if err := v.Verify(d, signedAt); err != nil {
		t.Fatal(err)
	}
	everyFlippedBit(t, v, d)
}

// Nobody gets in because somebody forgot the secret.
func TestNoSecretIsAnError(t *testing.T) {
	for _, c := range schemes() {
		for _, secrets := range [][]string{nil, {""}, {"  "}, {c.secret, ""}} {
			if _, err := webhook.NewVerifier(c.scheme, secrets...); err == nil {
				t.Errorf("%s: %q was taken", c.name, secrets)
			}
		}
	}
	if _, err := webhook.NewVerifier(webhook.Scheme{}, "x"); err == nil {
		t.Error("no scheme was taken")
	}
	for _, bad := range []string{"whsec_", "whsec_***", "whpk_AAAA"} {
		if _, err := webhook.NewVerifier(webhook.StandardWebhooks(), bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

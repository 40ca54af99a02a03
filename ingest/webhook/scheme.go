package webhook

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// tolerance is how far a signed time may be from now.
	tolerance = 5 * time.Minute
	// mlflowTolerance is wider: MLflow signs once and repeats the same headers when it tries again.
	mlflowTolerance = time.Hour
)

// HexOverBody is an HMAC-SHA256 of the body, in hex after prefix, in header: GitHub's "sha256=", Sentry's without prefix. With sep
// the header is a list, as PagerDuty's "v1=..,v1=..".
func HexOverBody(name, header, sep, prefix string) Scheme {
	return Scheme{Name: name, key: rawKey, read: func(d Delivery) proof {
		return proof{signed: d.Body, signatures: listed(d.Header.Values(header), sep, prefix, unhex)}
	}}
}

// GitHub signs the body: X-Hub-Signature-256. The older X-Hub-Signature, of SHA-1, is not looked at.
func GitHub() Scheme { return HexOverBody("github", "X-Hub-Signature-256", "", "sha256=") }

// Sentry signs the body: Sentry-Hook-Signature. The secret is the integration's client secret.
func Sentry() Scheme { return HexOverBody("sentry", "Sentry-Hook-Signature", "", "") }

// PagerDuty signs the body, with each of its secrets: X-PagerDuty-Signature.
func PagerDuty() Scheme { return HexOverBody("pagerduty", "X-PagerDuty-Signature", ",", "v1=") }

// Langfuse signs "time.body": x-langfuse-signature holds t=TIME,v1=HEX. The secret is used with its prefix.
func Langfuse() Scheme {
	return Scheme{Name: "langfuse", key: rawKey, Tolerance: tolerance, read: func(d Delivery) proof {
		values := d.Header.Values("X-Langfuse-Signature")
		var at string
		for _, v := range values {
			for item := range strings.SplitSeq(v, ",") {
				if t, ok := strings.CutPrefix(strings.TrimSpace(item), "t="); ok {
					at = t
				}
			}
		}
		return proof{signed: dotted(d.Body, at), signatures: listed(values, ",", "v1=", unhex), timed: true, at: seconds(at)}
	}}
}

// StandardWebhooks signs "id.time.body": webhook-signature holds "v1,BASE64 v1a,BASE64". A secret is whsec_ and base64, or whpk_ and
// a public key in base64.
func StandardWebhooks() Scheme {
	return idTimeBody("standardwebhooks", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", []string{"v1,", "v1a,"}, standardKey, tolerance)
}

// MLflow signs "id.time.body" as Standard Webhooks does, under names of its own and with the secret's characters as the key.
func MLflow() Scheme {
	return idTimeBody("mlflow", "X-MLflow-Delivery-Id", "X-MLflow-Timestamp", "X-MLflow-Signature", []string{"v1,"}, rawKey, mlflowTolerance)
}

func idTimeBody(name, id, at, signature string, prefixes []string, key func(string) (checker, error), tolerance time.Duration) Scheme {
	return Scheme{Name: name, key: key, Tolerance: tolerance, read: func(d Delivery) proof {
		t := d.Header.Get(at)
		p := proof{signed: dotted(d.Body, d.Header.Get(id), t), timed: true, at: seconds(t)}
		for _, prefix := range prefixes {
			p.signatures = append(p.signatures, listed(d.Header.Values(signature), " ", prefix, unbase64)...)
		}
		return p
	}}
}

// Grafana signs the body, or "time:body" where the contact point names a header for the time. With timeHeader empty no time is signed.
func Grafana(timeHeader string) Scheme {
	return Scheme{Name: "grafana", key: rawKey, Tolerance: tolerance, read: func(d Delivery) proof {
		p := proof{signed: d.Body, signatures: listed(d.Header.Values("X-Grafana-Alerting-Signature"), "", "", unhex)}
		if timeHeader != "" {
			at := d.Header.Get(timeHeader)
			p.signed = bytes.Join([][]byte{[]byte(at), d.Body}, []byte(":"))
			p.timed, p.at = true, seconds(at)
		}
		return p
	}}
}

// Bearer wants "Authorization: Bearer SECRET".
func Bearer(name string) Scheme {
	return tokenScheme(name, func(d Delivery) string { return authorization(d.Header, "Bearer") })
}

// Basic wants HTTP basic authentication; the secret is user:password.
func Basic(name string) Scheme {
	return tokenScheme(name, func(d Delivery) string {
		b, err := base64.StdEncoding.DecodeString(authorization(d.Header, "Basic"))
		if err != nil {
			return ""
		}
		return string(b)
	})
}

// HeaderToken wants the secret as the value of a header.
func HeaderToken(name, header string) Scheme {
	return tokenScheme(name, func(d Delivery) string { return d.Header.Get(header) })
}

// QueryToken wants the secret in the URL, for senders that can set nothing else. Such an address ends up in proxies' logs.
func QueryToken(name, parameter string) Scheme {
	return tokenScheme(name, func(d Delivery) string { return d.Query.Get(parameter) })
}

// FieldToken wants the secret as a string in the JSON body, at a pointer such as /shared_secret.
func FieldToken(name string, at jsontext.Pointer) Scheme {
	return tokenScheme(name, func(d Delivery) string { return fieldOf(d.Body, at) })
}

// AnyOf wants one of several proofs, each with the same secrets: a sender that puts its token into a header or into the URL.
func AnyOf(name string, of ...Scheme) Scheme {
	return Scheme{Name: name, key: tokenKey, read: func(d Delivery) proof {
		var p proof
		for _, s := range of {
			p.signatures = append(p.signatures, s.read(d).signatures...)
		}
		return p
	}}
}

func tokenScheme(name string, read func(Delivery) string) Scheme {
	return Scheme{Name: name, key: tokenKey, read: func(d Delivery) (p proof) {
		if t := read(d); t != "" {
			p.signatures = [][]byte{[]byte(t)}
		}
		return p
	}}
}

func authorization(h http.Header, kind string) string {
	got, rest, ok := strings.Cut(h.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(got, kind) {
		return ""
	}
	return strings.TrimSpace(rest)
}

// dotted joins what is signed before the body, and the body, with dots.
func dotted(body []byte, before ...string) []byte {
	return append([]byte(strings.Join(before, ".")+"."), body...)
}

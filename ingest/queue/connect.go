package queue

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Access is what a server asks of its client. All are file names; empty means not used.
type Access struct {
	Credentials string // user JWT and seed (.creds)
	CA          string // PEM certificates that sign the server's
	Cert, Key   string // PEM client certificate and its key, for mutual TLS
}

func (a Access) options() []nats.Option {
	var opts []nats.Option
	if a.Credentials != "" {
		opts = append(opts, nats.UserCredentials(a.Credentials))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Cert != "" || a.Key != "" {
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	}
	return opts
}

// connect opens one connection for writes and requests and one for readers, so that a bulk read never delays a publish's answer.
func (q *Queue) connect() (err error) {
	var opts []nats.Option
	if q.srv != nil {
		opts = append(opts, nats.InProcessServer(q.srv))
	} else {
		opts = append(opts, q.opts.Access.options()...)
	}
	if q.conn, err = q.dial(q.opts.URL, "pawl", q.logAsync, opts...); err != nil {
		return err
	}
	if q.readConn, err = q.dial(q.opts.URL, "pawl reader", q.readFault, opts...); err != nil {
		return err
	}
	if q.MaxBody() < headerReserve {
		return fmt.Errorf("queue: the server's max_payload of %d bytes is too small: raise it to 8 MiB", q.conn.MaxPayload())
	}
	q.js, err = jetstream.New(q.conn)
	return err
}

func (q *Queue) dial(to, name string, onError nats.ErrHandler, opts ...nats.Option) (*nats.Conn, error) {
	where := redactURLs(to)
	opts = append(opts,
		nats.Name(name), nats.Timeout(10*time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(time.Second),
		nats.ReconnectBufSize(-1), // refuse while disconnected; a buffer would answer nobody
		nats.ErrorHandler(onError),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				q.lg.Warn("disconnected from NATS", "connection", name, "url", where, "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { q.lg.Info("reconnected to NATS", "connection", name, "url", where) }),
	)
	nc, err := nats.Connect(to, opts...)
	if err != nil {
		return nil, fmt.Errorf("queue: connect to NATS at %s: %w: is it up, and are nats.url, credentials and TLS files right?", where, err)
	}
	return nc, nil
}

func (q *Queue) logAsync(_ *nats.Conn, sub *nats.Subscription, err error) {
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	q.lg.Warn("NATS connection", "subject", subject, "err", err)
}

// readFault ends all readers when the client has dropped messages of one: which one cannot be known for certain.
func (q *Queue) readFault(nc *nats.Conn, sub *nats.Subscription, err error) {
	q.logAsync(nc, sub, err)
	if errors.Is(err, nats.ErrSlowConsumer) {
		q.readers.fail(ErrSlowConsumer)
	}
}

// redactURLs hides passwords in a comma-separated list of URLs.
func redactURLs(list string) string {
	var out []string
	for s := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(s))
		if err != nil {
			out = append(out, "(unreadable URL)")
			continue
		}
		out = append(out, u.Redacted())
	}
	return cmp.Or(strings.Join(out, ","), "the embedded server")
}

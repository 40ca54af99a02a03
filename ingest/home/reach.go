package home

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// errUnreachable is wrapped where an address is one that pawl does not connect to.
var errUnreachable = errors.New("pawl does not connect there")

// toHome reaches the home that the configuration names, wherever that is, save the addresses at which clouds hand out credentials, unless it is named
// as such. A proxy of the environment is the operator's, too.
func toHome(base *url.URL) http.RoundTripper {
	literal, _ := netip.ParseAddr(base.Hostname())
	return transport(http.ProxyFromEnvironment, func(ip netip.Addr) error {
		if ip.IsLinkLocalUnicast() && ip != literal.Unmap() {
			return fmt.Errorf("%w: %s is a link-local address", errUnreachable, ip)
		}
		return nil
	})
}

// outside reaches public addresses alone, and those directly: a proxy would look names up by itself.
func outside() http.RoundTripper {
	return transport(nil, func(ip netip.Addr) error {
		if !public(ip) {
			return fmt.Errorf("%w: %s is not a public address", errUnreachable, ip)
		}
		return nil
	})
}

// transport checks the address that a name led to, right before the connection is made.
func transport(proxy func(*http.Request) (*url.URL, error), check func(netip.Addr) error) http.RoundTripper {
	d := &net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %s", errUnreachable, address)
		}
		return check(at.Addr().WithZone("").Unmap())
	}}
	return &http.Transport{Proxy: proxy, DialContext: d.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: answerTimeout,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true}
}

// shared are the address blocks that netip does not call private and that are no public ones either.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

func public(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !slices.ContainsFunc(shared, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// linked reads content that lies elsewhere. Our credential stays here.
func (c client) linked(ctx context.Context, link string) ([]byte, error) {
	u, err := url.Parse(link)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, errors.New("the link to it is none")
	case u.Scheme != "https":
		return nil, fmt.Errorf("%w: the link to it is not https", errUnreachable)
	case !slices.ContainsFunc(c.hosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) }):
		return nil, fmt.Errorf("%w: it lies on %s, which links does not name", errUnreachable, cut(u.Hostname()))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, errors.New("the link to it is none")
	}
	req.Header.Set("User-Agent", "pawl")
	return c.exchange(c.links, req)
}

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a positive length of time, written as 30s, 3m or 168h.
type Duration time.Duration

// UnmarshalText reads a duration; a number without a unit is refused.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration such as 30s, 3m or 168h", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the shortest exact form, 168h rather than 168h0m0s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String writes the shortest exact form.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Bytes is a size, written as 512KiB, 8MiB or 4GiB, or as a plain number of bytes.
type Bytes int64

var byteUnits = []struct {
	suffix string
	size   int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText reads a size; decimal units (MB) are refused, since they are read in two ways.
func (b *Bytes) UnmarshalText(text []byte) error {
	bad := fmt.Errorf("%q is not a size such as 512KiB, 8MiB or 4GiB", text)
	number, size := string(text), int64(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(number, u.suffix); ok {
			number, size = strings.TrimRight(n, " "), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/size {
		return bad
	}
	*b = Bytes(n * size)
	return nil
}

// MarshalText writes the largest unit that divides the size.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String writes the largest unit that divides the size.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.suffix
		}
	}
	return "0B"
}

// Addr is a listening address, host:port; empty is off.
type Addr string

// UnmarshalText checks that the address has a host and a numeric port.
func (a *Addr) UnmarshalText(text []byte) error {
	host, port, err := net.SplitHostPort(string(text))
	if err != nil || host == "" {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:4318", text)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port from 0 to 65535", text)
	}
	*a = Addr(text)
	return nil
}

// Loopback reports whether only this machine can reach the address. A host name other than localhost cannot be known to.
func (a Addr) Loopback() bool {
	host, _, _ := net.SplitHostPort(string(a))
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func (a Addr) port() string {
	_, port, _ := net.SplitHostPort(string(a))
	return port
}

// CIDR is a range of addresses, 10.1.0.0/16, or one address.
type CIDR string

// UnmarshalText checks the range.
func (c *CIDR) UnmarshalText(text []byte) error {
	if _, err := cidr(string(text)); err != nil {
		return fmt.Errorf("%q is neither a range of addresses such as 10.1.0.0/16 nor an address", text)
	}
	*c = CIDR(text)
	return nil
}

// Prefix is the range.
func (c CIDR) Prefix() netip.Prefix {
	p, _ := cidr(string(c))
	return p
}

func cidr(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// Person is a name by which others know somebody, or * for everybody else.
type Person string

// UnmarshalText refuses the empty name.
func (p *Person) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("the empty name is nobody's; write \"*\" for everybody else")
	}
	*p = Person(text)
	return nil
}

// Glob is a pattern of path.Match, in which ** may stand for any number of path elements.
type Glob string

// UnmarshalText checks the pattern.
func (g *Glob) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("the empty pattern matches nothing; write \"*\" for all")
	}
	if _, err := path.Match(string(text), ""); err != nil {
		return fmt.Errorf("%q is not a pattern: a [ without its ], or a \\ at the end", text)
	}
	*g = Glob(text)
	return nil
}

// ModelGlob is a pattern of models' names: * is any run of characters, slashes too, ? any one; case does not matter.
type ModelGlob string

// UnmarshalText refuses the empty pattern.
func (g *ModelGlob) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("the empty pattern matches nothing; write \"*\" for all")
	}
	*g = ModelGlob(text)
	return nil
}

// KeyGlob is a pattern of attribute keys: * is any run of characters, ? any one.
type KeyGlob string

// UnmarshalText refuses the empty pattern and expressions, which only a Mask takes.
func (g *KeyGlob) UnmarshalText(text []byte) error {
	if len(text) == 0 || text[0] == '/' {
		return fmt.Errorf("%q is not a pattern of attribute keys such as http.request.header.*", text)
	}
	*g = KeyGlob(text)
	return nil
}

// Mask is a pattern of attribute keys as in KeyGlob or, between slashes, a regular expression.
type Mask string

// UnmarshalText checks the expression.
func (m *Mask) UnmarshalText(text []byte) error {
	inner, ok := strings.CutPrefix(string(text), "/")
	if ok && len(inner) > 1 && strings.HasSuffix(inner, "/") {
		if _, err := regexp.Compile(strings.TrimSuffix(inner, "/")); err != nil {
			return err
		}
	} else if ok || len(text) == 0 {
		return fmt.Errorf("%q is neither a pattern such as enduser.* nor an expression such as /sk-[a-z0-9]+/", text)
	}
	*m = Mask(text)
	return nil
}

// JSONSchema is a schema as canonical JSON bytes; nil if there is none.
type JSONSchema json.RawMessage

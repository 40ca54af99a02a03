package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"
)

// Addresses in pieces. What is put together is mostly not what belongs together: @acme/tool@7.10.7 and the name of an attribute beside it would make an
// address of anybody's. One in pieces therefore has to look like one: no version after the @, no package before it, and a top level domain that there is.

var (
	versionFirst = regexp.MustCompile(`^[vV]?[0-9]+\.[0-9]+\.[0-9]`)              // no domain begins with three numbers
	scopeLast    = regexp.MustCompile(`(?:^|[^\pL\pN._+-])@[A-Za-z0-9][\w.-]*/$`) // of a package: @acme/tool
)

// address says that an e-mail address in more than one piece of a joined text, from start to end, can be one.
func (v view) address(start, end int) bool {
	domain := start + strings.IndexByte(v.text[start:end], '@') + 1
	if versionFirst.MatchString(v.text[domain:end]) || scopeLast.MatchString(v.text[v.piece(start):start]) {
		return false
	}
	for i, c := range v.text[domain:end] { // what follows may be glued to it: the next piece, or the next word with its capital
		if _, cut := slices.BinarySearch(v.cuts, domain+i); (cut || unicode.IsUpper(c)) && topLevel(v.text[domain:domain+i]) {
			return true
		}
	}
	return topLevel(v.text[domain:end])
}

// piece is where the piece begins in which a position lies.
func (v view) piece(at int) int {
	i, exact := slices.BinarySearch(v.cuts, at)
	if exact {
		return at
	}
	return v.cuts[max(0, i-1)]
}

// private are the top level domains of networks that are nobody else's.
var private = map[string]bool{"local": true, "internal": true, "intranet": true, "lan": true, "corp": true, "home": true, "private": true, "localdomain": true, "onion": true}

// topLevel says that a domain has a top level domain that there is.
func topLevel(domain string) bool {
	domain = strings.ToLower(strings.TrimRight(domain, ".-"))
	dot := strings.LastIndexByte(domain, '.')
	if dot <= 0 {
		return false
	}
	tld := domain[dot+1:]
	if strings.HasPrefix(tld, "xn--") || private[tld] || !ascii(tld) { // of another script: no name of code is
		return true
	}
	_, known := publicsuffix.PublicSuffix("a.b." + tld)
	return known
}

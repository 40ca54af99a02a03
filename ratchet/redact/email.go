package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// localStart finds where the local part before the @ at end begins; end itself if there is none.
func localStart(text string, from, end int) int {
	start := end
	for start > from {
		c, size := utf8.DecodeLastRuneInString(text[from:start])
		if c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune(".!#$&'*+/=?^_`{|}~-%", c) {
			break
		}
		start -= size
	}
	// Punctuation before the address is the sentence's: (mail=maya@..., 'maya@..., //maya@...
	if cut := strings.LastIndexAny(text[start:end], "=/`{}|?&#*!"); cut >= 0 {
		start += cut + 1
	}
	for start < end && strings.IndexByte("'.-+~^$%", text[start]) >= 0 {
		start++
	}
	if start > 0 && start < end && text[start-1] == '\\' && strings.IndexByte("ntrbf", text[start]) >= 0 {
		start++ // the letter belongs to an escape: \nmaya@...
	}
	if start > 0 && (text[start-1] == ':' && strings.Contains(text[max(0, start-80):start], "://")) {
		return end // the password of a URL, which the secret rules take
	}
	return start
}

// fileEndings look like top level domains after an @: icon@2x.png, module@v1.js.
var fileEndings = map[string]bool{
	"png": true, "jpg": true, "jpeg": true, "gif": true, "svg": true, "webp": true, "js": true, "ts": true, "mjs": true, "cjs": true, "tsx": true, "jsx": true,
	"css": true, "json": true, "yaml": true, "yml": true, "html": true, "txt": true, "map": true, "tgz": true, "zip": true, "gz": true,
}

// domainEnd finds where the domain that starts at from ends; from itself if it is none.
func domainEnd(text string, from int) int {
	end := from
	for end < len(text) {
		c, size := utf8.DecodeRuneInString(text[end:])
		if c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && c != '.' && c != '-' {
			break
		}
		end += size
	}
	domain := strings.TrimRight(text[from:end], ".-")
	dot := strings.LastIndexByte(domain, '.')
	if dot <= 0 || domain[0] == '.' || domain[0] == '-' || strings.Contains(domain, "..") {
		return from
	}
	tld := domain[dot+1:]
	if !strings.HasPrefix(tld, "xn--") { // what is glued to the address is not its: maya@acme.org2024
		if i := strings.IndexFunc(tld, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsMark(c) }); i >= 0 {
			tld = tld[:i]
		}
	}
	if utf8.RuneCountInString(tld) < 2 || fileEndings[strings.ToLower(tld)] {
		return from
	}
	return from + dot + 1 + len(tld)
}

// wholeEmail says that a text is one address and nothing else.
func wholeEmail(text string) bool {
	at := strings.LastIndexByte(text, '@')
	return at > 0 && localStart(text, 0, at) == 0 && domainEnd(text, at+1) == len(text)
}

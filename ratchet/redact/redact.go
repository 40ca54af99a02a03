// Package redact takes secrets and personal data out of what is about to leave the service, consistently.
//
// A Redactor is compiled once. A Session is one mapping for one case: equal values get equal pseudonyms, numbered by
// first occurrence and without a key, so that the same case gives the same bytes everywhere.
//
// Pseudonyms keep the shape on which a recorded failure may depend:
//
//	e-mail        email-1@example.com (a valid address; addresses at example.com and example.org are replaced too,
//	              since a reader cannot know which of them stand for a person)
//	phone         same layout and country code, zeros and the number: +49 170 1234567 -> +49 000 0000001
//	card          same layout and first digit, and it passes the Luhn check: 4000 0000 0000 0010
//	IBAN          same country and layout, letters as X, and it passes mod 97
//	IP address    192.0.2.1 and onwards, 2001:db8::1 and onwards (the documentation ranges)
//	national id   same layout, letters as X, zeros and the number; its checksum does not hold
//	user id       a known prefix (cust-, user-, ...) or a UUID keeps its form, else user-1
//	birth date    1900-01-02 and onwards where it was a plain date
//	all others    the kind and the number: secret-1, name-1, address-1, value-1
//
// A value under a personal key that is not of the key's kind ("email": "not an address") becomes value-1, which is not
// of that kind either: a schema violation stays one. Lengths of other replaced values are not kept; Session.Replaced
// reports them.
//
// Invariants, held by property tests: equal values stay equal and different ones different; redacting redacted data
// changes nothing; JSON stays JSON with the same structure, the same order of keys and the same number literals (save a
// number that is itself a card, or a long number under a personal key, which becomes a number with as many digits);
// nothing the session replaced survives in any encoding that Session.Verify knows.
//
// Session.Verify is the second look, written apart from the first: it shares no detector with the redactor. Run it on
// the final bytes of everything that leaves, and refuse all of it upon an error.
//
// What people tell of themselves in prose (told.go) is found by the words that they tell it with, in eight European languages and for names in four more:
// "my name is", "I live at", "born on", a passport, a number plate. Canaries are refused, never replaced.
//
// Not found: names, addresses and other personal facts in free prose that no such words introduce and that stand under no personal key anywhere in the
// session; data in images, audio and archives of several files; obfuscations such as "maya at example dot com"; ciphers; MAC addresses, coordinates;
// digits-only national ids without a word that names them; phone numbers without country code, separators and context; a phone number, a national id or a name
// split over strings or lines that the session saw whole nowhere.
package redact

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// Version names the rules and pseudonym forms of this package; every derived value carries it. It changes whenever the
// same input could give other bytes.
const Version = "3"

// Kind says what a replaced value was: one of the constants, or the Name of a team's Pattern.
type Kind string

// The kinds that the built-in rules find.
const (
	Email      Kind = "email"
	Phone      Kind = "phone"
	Card       Kind = "card"
	IBAN       Kind = "iban"
	IP         Kind = "ip"
	NationalID Kind = "national_id"
	Secret     Kind = "secret"
	Name       Kind = "name"
	User       Kind = "user"
	Address    Kind = "address"
	BirthDate  Kind = "birth_date"
	Plate      Kind = "plate"  // of a car
	Value      Kind = "value"  // a personal key's value that is not of the key's own kind
	Canary     Kind = "canary" // a value that was planted to be caught; found, never replaced
)

var builtinKinds = []Kind{Email, Phone, Card, IBAN, IP, NationalID, Secret, Name, User, Address, BirthDate, Plate, Value, Canary}

// Pattern is a team's own kind of personal data. Name (a-z, digits, underscore; not one of the built-in kinds) becomes
// the kind and the pseudonym's prefix; Regexp finds it in decoded text: its first group if it has one, else the match.
type Pattern struct {
	Name   string
	Regexp string
}

// Options says what a team adds to the rules and takes from them. The zero value is the default.
type Options struct {
	// Patterns are looked for besides the built-in rules.
	Patterns []Pattern
	// Keep lists exact values that are never replaced and never count as a leak: tool names, model names, public addresses.
	Keep []string
	// Keys lists further object keys, attribute keys or header names whose whole value is replaced, with their kind
	// (empty means Value). Case and punctuation do not matter.
	Keys map[string]Kind
	// Canaries are values that somebody planted where nobody real is (a made-up customer, a token that opens nothing) to see whether they get out. The second
	// look refuses whatever holds one, however it is written. At least 8 bytes each; capitals do not matter.
	Canaries []string
	// Regions are the countries (ISO 3166, two letters) in which a phone number without country code is tried. Default:
	// US, GB, DE, FR, ES, IT, NL, PL, BR, IN, KR.
	Regions []string
}

var defaultRegions = []string{"US", "GB", "DE", "FR", "ES", "IT", "NL", "PL", "BR", "IN", "KR"}

// Redactor holds the compiled rules. It is immutable and may be used by many goroutines.
type Redactor struct {
	leaks    *detect.Detector
	patterns []compiledPattern
	keep     map[string]bool
	keys     map[string]Kind
	kinds    map[Kind]bool
	regions  []string
	canaries []string // in lower case
	bare     []string // the same, letters and digits alone
}

type compiledPattern struct {
	kind Kind
	re   *regexp.Regexp
}

var patternName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// New compiles the rules, which takes some tens of milliseconds. lg may be nil. It fails on a pattern that does not
// compile, that matches the empty string, or whose name is malformed, doubled or a built-in kind.
func New(lg *slog.Logger, opts Options) (*Redactor, error) {
	leaks, err := newLeakDetector()
	if err != nil {
		return nil, fmt.Errorf("redact: load secret rules: %w", err)
	}
	r := &Redactor{leaks: leaks, keep: map[string]bool{}, keys: map[string]Kind{}, kinds: map[Kind]bool{}, regions: opts.Regions}
	if len(r.regions) == 0 {
		r.regions = defaultRegions
	}
	for _, k := range builtinKinds {
		r.kinds[k] = true
	}
	for _, p := range opts.Patterns {
		if err := r.addPattern(p); err != nil {
			return nil, err
		}
	}
	for i, c := range opts.Canaries {
		if len(c) < minCanary {
			return nil, fmt.Errorf("redact: canary %d: shorter than %d bytes, it would stand in innocent text: plant a longer one", i+1, minCanary)
		}
		r.canaries = append(r.canaries, strings.ToLower(c))
		r.bare = append(r.bare, bareWords(strings.ToLower(c)))
	}
	for _, v := range opts.Keep {
		r.keep[v] = true
	}
	for key, kind := range opts.Keys {
		if kind == "" {
			kind = Value
		}
		if !r.kinds[kind] {
			return nil, fmt.Errorf("redact: key %q: unknown kind %q: use a built-in kind or the name of a pattern", key, kind)
		}
		r.keys[normalKey(key)] = kind
	}
	if lg != nil {
		lg.Debug("redactor ready", "version", Version, "patterns", len(r.patterns), "keep", len(r.keep))
	}
	return r, nil
}

func (r *Redactor) addPattern(p Pattern) error {
	if !patternName.MatchString(p.Name) {
		return fmt.Errorf("redact: pattern %q: name must be lower case letters, digits and underscores", p.Name)
	}
	if r.kinds[Kind(p.Name)] {
		return fmt.Errorf("redact: pattern %q: name is already taken: choose another", p.Name)
	}
	re, err := regexp.Compile(p.Regexp)
	if err != nil {
		return fmt.Errorf("redact: pattern %q: %w", p.Name, err)
	}
	if re.MatchString("") {
		return fmt.Errorf("redact: pattern %q: matches the empty string: require at least one character", p.Name)
	}
	r.kinds[Kind(p.Name)] = true
	r.patterns = append(r.patterns, compiledPattern{Kind(p.Name), re})
	return nil
}

// Session starts an empty mapping for one case.
func (r *Redactor) Session() *Session {
	return &Session{
		r: r, exact: map[string]Kind{}, names: map[string]*Replacement{}, numbers: map[string]int{}, next: map[string]int{},
		taken: map[string]string{}, cache: map[string][]hit{},
	}
}

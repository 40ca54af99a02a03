package redact

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
)

// quiet turns off the library's own log, which it writes to standard error through a global.
var quiet = sync.OnceFunc(func() { logging.Logger = zerolog.Nop() })

// newLeakDetector compiles the library's default rules through a viper of our own, since its constructor overwrites the
// process-wide one. Two of its defaults are for source code and wrong here: a comment "gitleaks:allow" in the data must
// not switch it off, and its global allow list lets through every secret that contains "false".
func newLeakDetector() (*detect.Detector, error) {
	quiet()
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, err
	}
	var vc config.ViperConfig
	if err := v.Unmarshal(&vc); err != nil {
		return nil, err
	}
	cfg, err := vc.Translate()
	if err != nil {
		return nil, err
	}
	for _, allow := range cfg.Allowlists {
		allow.Regexes = slices.DeleteFunc(allow.Regexes, func(re *regexp.Regexp) bool { return strings.Contains(re.String(), "false") })
	}
	cfg.Allowlists = slices.DeleteFunc(cfg.Allowlists, func(a *config.Allowlist) bool { return len(a.Regexes)+len(a.StopWords) == 0 })
	for _, allow := range cfg.Allowlists {
		fresh := config.Allowlist{Description: allow.Description, MatchCondition: allow.MatchCondition, RegexTarget: allow.RegexTarget, Regexes: allow.Regexes, StopWords: allow.StopWords}
		if err := fresh.Validate(); err != nil {
			return nil, err
		}
		*allow = fresh
	}
	d := detect.NewDetector(cfg)
	d.IgnoreGitleaksAllow = true
	return d, nil
}

// maxContextValue is the longest value that is looked at together with its key.
const maxContextValue = 512

// secrets finds credentials: by the library's rules around everything that is random enough to be one, and by our own.
func (r *Redactor) secrets(text, key string, add addFunc) {
	for _, w := range tokenWindows(text) {
		r.leakRules(text, w[0], w[1], "", add)
	}
	if key != "" && key != "key" && len(text) <= maxContextValue && !strings.ContainsAny(text, " \n") && (hasToken(text) || plainID(text) && !idKey(key)) {
		r.leakRules(text, 0, len(text), key+` = "`, add)
	}
	ownSecrets(text, add)
}

// leakRules runs the library over one part of a text. Its findings come in random order and without offsets: every place
// where a found secret stands counts.
func (r *Redactor) leakRules(text string, start, end int, before string, add addFunc) {
	part := text[start:end]
	probe := part
	if before != "" {
		probe = before + part + `"`
	}
	for _, f := range r.leaks.DetectString(probe) {
		secret := strings.TrimSpace(f.Secret)
		if len(secret) < 6 || isSecretPseudonym(secret) || f.RuleID == "generic-api-key" && notSecret(secret) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(part[at:], secret)
			if i < 0 {
				break
			}
			add(Secret, start+at+i, start+at+i+len(secret))
			at += i + len(secret)
		}
	}
}

// ordinary are the ids that traces are full of and that the generic rule takes for keys.
var ordinary = regexp.MustCompile(`^(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{64}|sha256:[0-9a-f]{64}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|` +
	`(?:call|toolu|chatcmpl|msg|run|resp|rs|fc|fp|req|thread|asst|step|sess|gen|tooluse|ORD|PROD|SKU)[-_][A-Za-z0-9_-]+|` +
	`[a-z_]+(?:\.[a-z0-9_]+)+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|(?:gpt|claude|gemini|llama|mistral|o[1-9]|text|amazon|anthropic|openai|meta|cohere)[-./][A-Za-z0-9./:-]+)$`)

func notSecret(v string) bool { return ordinary.MatchString(v) || isSecretPseudonym(v) }

func isSecretPseudonym(v string) bool {
	return secretPseudonym.MatchString(v) || emailPseudonym.MatchString(v)
}

// tokenWindows are the parts of a text around its runs of 10 or more characters that mix letters and digits: no rule of
// the library can match far from one, and its rules cost far more than this look.
func tokenWindows(text string) [][2]int {
	const before, after = 120, 8
	var out [][2]int
	for start := 0; start < len(text); {
		if !tokenByte(text[start]) {
			start++
			continue
		}
		end := start
		for end < len(text) && tokenByte(text[end]) {
			end++
		}
		if run := text[start:end]; mixed(run) || plainID(run) && assigned(text[:start]) {
			from, to := max(0, start-before), min(len(text), end+after)
			if n := len(out); n > 0 && from <= out[n-1][1] {
				out[n-1][1] = to
			} else {
				out = append(out, [2]int{from, to})
			}
		}
		start = end
	}
	return out
}

// assigned says that a value follows: a hexadecimal id is a key only where something says so.
func assigned(before string) bool {
	before = strings.TrimRight(before, " \"'`\t")
	return strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":")
}

// idKey says that a key names an id, as most keys of hexadecimal values do.
func idKey(key string) bool { return strings.HasSuffix(strings.ToLower(key), "id") }

func hasToken(text string) bool { return len(tokenWindows(text)) > 0 }

func tokenByte(c byte) bool {
	return baseByte(c) || c == '.' || c == '=' || c == '~' || c == ':'
}

// mixed says that a run is long and random enough to be looked at.
func mixed(run string) bool {
	if len(run) < 10 || plainID(run) {
		return false
	}
	digits, upper, lower := 0, 0, 0
	for _, c := range []byte(run) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		}
	}
	return digits > 1 && upper+lower > 1 || len(run) >= 20 && upper > 2 && lower > 2
}

// secretRule is a credential that the library's rules leave: they want white space or a quote after it, or know it only in
// a command line.
type secretRule struct {
	need  string // lower case; the rule runs only on texts that contain it
	re    *regexp.Regexp
	valid func(string) bool
}

var secretRules = []secretRule{
	{"authorization", regexp.MustCompile(`(?i)\bauthorization\b\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest|apikey|negotiate)\s+)?([^\s"'\\,;]{6,})`), notScheme},
	{"bearer", regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{12,})`), hasDigit},
	{"basic", regexp.MustCompile(`(?i)\bbasic\s+([A-Za-z0-9+/_-]{8,}={0,2})`), basicCredentials},
	{"cookie:", regexp.MustCompile(`(?i)\b(?:set-)?cookie:[ \t]*([^\r\n"\\]{4,})`), nil},
	{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|[\s\S]*)`), nil},
	{"://", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/?#"'@\\]*:[^\s/?#"'\\]+)@`), nil},
	{"eyj", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){0,3}`), nil},
	{"-", regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|pplx|tvly|glpat|lsv2|xox[abeoprs])-[A-Za-z0-9][A-Za-z0-9_-]{14,}`), hasDigit},
	{"_", regexp.MustCompile(`\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|(?:sk|pk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{20,}|lsv2_[a-z]{2}_[A-Za-z0-9_]{20,})`), hasDigit},
	{"a", regexp.MustCompile(`\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`), nil},
	{"aiza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), nil},
	{"sig", regexp.MustCompile(`(?i)[?&](?:x-amz-signature|x-goog-signature|signature|sig)=([^&\s"'#<>]{8,})`), nil},
	{"key=", regexp.MustCompile(`(?i)[?&]key=([^&\s"'#<>]{16,})`), nil},
	{"token=", regexp.MustCompile(`(?i)[?&][a-z_-]*token=([^&\s"'#<>]{8,})`), nil},
	{"pass", regexp.MustCompile(`(?i)\b(?:password|passwd|passphrase|passcode|pwd)\b(?:\s+is\b|\s*[:=])\s*["'` + "`" + `]?([^\s"'\\,;` + "`" + `]{4,})`), hasDigit},
	{"secret", regexp.MustCompile(`(?i)\bsecret(?:[ _-]key)?\b(?:\s+is\b|\s*[:=])\s*["'` + "`" + `]?([^\s"'\\,;` + "`" + `]{8,})`), hasDigit},
}

func ownSecrets(text string, add addFunc) {
	lower := strings.ToLower(text)
	for _, rule := range secretRules {
		if !strings.Contains(lower, rule.need) {
			continue
		}
		for _, m := range rule.re.FindAllStringSubmatchIndex(text, -1) {
			start, end := group(m)
			v := text[start:end]
			if !notSecret(v) && !everyday[strings.ToLower(v)] && (rule.valid == nil || rule.valid(v)) {
				add(Secret, start, end)
			}
		}
	}
}

func hasDigit(v string) bool { return countDigits(v) > 0 }

func notScheme(v string) bool {
	switch strings.ToLower(v) {
	case "bearer", "basic", "digest", "negotiate", "header", "failed", "required", "denied":
		return false
	}
	return true
}

// basicCredentials says that a value decodes to user:password.
func basicCredentials(v string) bool {
	d, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && readable(d) && strings.Contains(string(d), ":")
}

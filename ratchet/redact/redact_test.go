package redact

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"
)

func newRedactor(t testing.TB, opts Options) *Redactor {
	t.Helper()
	r, err := New(slog.New(slog.DiscardHandler), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestTextReplaces(t *testing.T) {
	r := newRedactor(t, Options{})
	tests := []struct{ name, in, want string }{
		{"email", "Hi, I am maya.lind@acme.org, again maya.lind@acme.org, cc bob@acme.org.", "Hi, I am email-1@example.com, again email-1@example.com, cc email-2@example.com."},
		{"email case", "Maya@Acme.org and maya@acme.org", "email-1@example.com and email-1@example.com"},
		{"email plus and apostrophe", "<maya+shop@mail.acme.co.uk> o'brien@acme.ie", "<email-1@example.com> email-2@example.com"},
		{"email unicode", "jörg.müller@bücher.de, почта@пример.рф", "email-1@example.com, email-2@example.com"},
		{"email percent", "https://x.test/u?email=maya%40acme.org&n=1", "https://x.test/u?email=email-1%40example.com&n=1"},
		{"email twice percent", "maya%2540acme.org", "email-1%2540example.com"},
		{"email after an escape", `Dear,\nmaya@acme.org\n`, `Dear,\nemail-1@example.com\n`},
		{"email at example.com", "maya@example.com", "email-1@example.com"},
		{"phone with country code", "call +49 30 901820 or +49 (0)30 901820, +4930901820", "call +49 00 000001 or +49 (0)00 000001, +4900000001"},
		{"phone north american", "(212) 555-2368, 212-555-2368", "(000) 000-0001, 000-000-0001"},
		{"phone national", "Tel. 030 901820", "Tel. 000 000001"},
		{"phone after a word", "my phone number is 2125552368", "my phone number is 0000000001"},
		{"card", "pay with 4111 1111 1111 1111 or 5500-0000-0000-0004", "pay with 4000 0000 0000 0010 or 5000-0000-0000-0025"},
		{"amex", "378282246310005", "300000000000015"},
		{"iban", "DE89 3704 0044 0532 0130 00, GB29NWBK60161331926819", "DE09 0000 0000 0000 0000 01, GB22XXXX00000000000002"},
		{"ipv4", "from 8.8.4.4:443 to 10.1.2.3, local 127.0.0.1", "from 192.0.2.1:443 to 192.0.2.2, local 127.0.0.1"},
		{"ipv6", "from 2a00:1450:4001:82b::200e", "from 2001:db8::1"},
		{"us ssn", "SSN 536-90-4399", "SSN 000-00-0001"},
		{"uk nino", "NI number AB123456C", "NI number XX000001X"},
		{"german tax id", "Steuer-ID 86095742719", "Steuer-ID 00000000001"},
		{"german insurance", "15070649C103", "00000000X001"},
		{"french insee", "255081416802538", "000000000000001"},
		{"spanish dni and nie", "12345678Z X1234567L", "00000001X X0000002X"},
		{"italian", "RSSMRA85T10A562S", "XXXXXX00X00X001X"},
		{"korean", "900101-1234567", "000000-0000001"},
		{"dutch", "BSN: 111222333", "BSN: 000000001"},
		{"polish", "PESEL 44051401359", "PESEL 00000000001"},
		{"brazilian", "529.982.247-25", "000.000.000-01"},
		{"indian", "2341 2341 2346", "0000 0000 0001"},
		{"swiss", "756.9217.0769.85", "000.0000.0000.01"},
		{"swedish", "811228-9874", "000000-0001"},
		{"bearer", "Authorization: Bearer abcDEF123456.xyz", "Authorization: Bearer secret-1"},
		{"basic", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic secret-1"},
		{"cookie", "Cookie: sid=abc; theme=dark", "Cookie: secret-1"},
		{"url userinfo", "postgres://app:hunter2@db.internal:5432/shop", "postgres://secret-1@db.internal:5432/shop"},
		{"private key cut off", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA", "secret-1"},
		{"openai key in a sentence", "I used sk-proj-abcdEFGH1234567890, it failed", "I used secret-1, it failed"},
		{"aws", "AKIAIOSFODNN7EXAMPLE", "secret-1"},
		{"github", "(ghp_0123456789abcdefghijABCDEFGHIJ012345)", "(secret-1)"},
		{"jwt", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U", "got secret-1"},
		{"library rule", `slack_hook = "https://hooks.slack.com/services/T01ABCDEFGH/B01ABCDEFGH/abcdefghijklmnopqrstuvwx"`, `slack_hook = "secret-1"`},
		{"allow comment has no say", "sk_live_4eC39HqLyjWDarjtT1zdp7dc # gitleaks:allow", "secret-1 # gitleaks:allow"},
		{"password in prose", "my password is hunter2!", "my password is secret-1"},
		{"truncated json", `{"user":{"email":"maya@acme.org","password":"correct horse","na`, `{"user":{"email":"email-1@example.com","password":"secret-1","na`},
		{"truncated json with escapes", `{"a":"maya\u0040acme.org","b":"x`, `{"a":"email-1@example.com","b":"x`},
		{"event stream", "data: {\"to\":\"maya\\u0040acme.org\"}\n\ndata: [DONE]", "data: {\"to\":\"email-1@example.com\"}\n\ndata: [DONE]"},
		{"html", "maya&#64;acme.org", "email-1@example.com"},
		{"header on a command line", "curl -H 'X-Api-Key: 8f14e45fceea167a5a36dedd4bea2543' x", "curl -H 'X-Api-Key: secret-1' x"},
		{"key with a vendor's name", "datadog_token = 8f14e45fceea167a5a36dedd4bea25438f14e45f", "datadog_token = secret-1"},
		{"base64", "blob bWF5YUBhY21lLm9yZw== end", "blob ZW1haWwtMUBleGFtcGxlLmNvbQ== end"},
		{"hex", "6d617961406163 6d6179614061636d652e6f7267", "6d617961406163 656d61696c2d31406578616d706c652e636f6d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := r.Session()
			got := s.Text(tt.in)
			if got != tt.want {
				t.Fatalf("\n in   %s\n got  %s\n want %s", tt.in, got, tt.want)
			}
			if again := r.Session().Text(got); again != got {
				t.Errorf("redacting again changed it:\n%s\n%s", got, again)
			}
			if again := s.Text(got); again != got {
				t.Errorf("redacting again in the same session changed it:\n%s\n%s", got, again)
			}
			if err := s.Verify([]byte(got)); err != nil {
				t.Errorf("verify: %v", err)
			}
		})
	}
}

// TestTextLeaves holds what agents' traces are full of and no person's.
func TestTextLeaves(t *testing.T) {
	r := newRedactor(t, Options{})
	for _, in := range []string{
		"ORD-10231", "order 10231 of 2024", "PROD-00917-B", "SKU 4006381333931", "invoice INV-2024-000123", "tracking 1Z999AA10123456784", "AB123456C",
		"2024-01-02", "2024-01-02T03:04:05.123Z", "02.01.2024 10:11:12", "1796048633353000000", "1796048633353", "1732984815", "2026-11-30 16:40:15 +0000",
		"EUR 1,234.56", "19.99", "price: 1299.00", "$1,000,000", "12345678901", "100000000000",
		"b80ae436f7c3aaa28cacf386500fc056", "b159bedb914d7ce0", "00-b80ae436f7c3aaa28cacf386500fc056-b159bedb914d7ce0-01",
		"550e8400-e29b-41d4-a716-446655440000", "call_abc123DEF456ghi789JKL012", "toolu_01A09q90qw90lq917835lq9", "chatcmpl-AbCdEf0123456789", "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "gpt-4.1-mini-2025-04-14", "claude-sonnet-4-20250514", "anthropic.claude-3-5-sonnet-20241022-v2:0", "text-embedding-3-small",
		"v1.2.3", "1.42.0", "version 1.2.3.4", "Chrome/120.0.0.0 Safari/537.36", "@openinference/instrumentation-openai@4.2.7", "icon@2x.png", "git@github.com:acme/shop.git", "std::vector<abc::def>",
		"llm.input_messages.0.message.content", "gen_ai.usage.input_tokens", "max_tokens: 4096", "next_page_token=abc123", "127.0.0.1:4318", "http://localhost:4317/v1/traces", "[::1]:8080",
		"Please enter your e-mail and password: at least 8 characters", "the API key is missing", "401 Unauthorized: invalid bearer token", "authorization failed", "Phone: we call you back",
		"user batch 00012345678905 lot 20241130-0001", "arn:aws:iam::123456789012:role/x", "4711-2024-0815", "JD014600006281230704", "00340434161094021501", "pod-7c9f5d8b4-x2x9z",
		"asst_5j66UpCpwteGg4YSxUnt7lPY", "https://cloud.langfuse.com/project/clkpwwm0m000gmm094odg11gi/traces/b80ae436f7c3aaa28cacf386500fc056", "978-3-16-148410-0",
		"at Object.<anonymous> (/app/src/agent.ts:12345:67)", "8:30-17:00, 2024/11/30 10:00:00", "[0.0123456789, -0.987654321]", "sk-proj-********************1234",
		"pointer /items/0/price must be >= 0", "limit 20, offset 100, total 12345678", "ratio 0.8333333333", "temperature 0.70000001", "row 123-456-78", "9780306406157", "10.5281/zenodo.1234567",
		`{"type":"object","properties":{"email":{"type":"string","format":"email"},"password":{"type":"string"}},"required":["email","password"]}`,
		`{"order_id":"ORD-10231","total":129.90,"currency":"EUR","items":[{"sku":"4006381333931","qty":2}],"created":1732984815123}`,
		`{"idempotency_key":"b80ae436-1","traceparent":"00-b80ae436f7c3aaa28cacf386500fc056-b159bedb914d7ce0-01"}`,
	} {
		s := r.Session()
		if got := s.Text(in); got != in {
			t.Errorf("\n in  %s\n got %s", in, got)
		}
		if err := s.Verify([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestJSON(t *testing.T) {
	r := newRedactor(t, Options{})
	tests := []struct{ name, in, want string }{
		{"keeps form", "{\n  \"b\" : 1.50,\"a\":[1e3, \"x@acme.org\" ] }\n", "{\n  \"b\" : 1.50,\"a\":[1e3, \"email-1@example.com\" ] }\n"},
		{"numbers by sorted keys", `{"b":"b@acme.org","a":"a@acme.org"}`, `{"b":"email-2@example.com","a":"email-1@example.com"}`},
		{"escaped", `["\u006daya\u0040acme.org"]`, `["email-1@example.com"]`},
		{"key is personal", `{"maya@acme.org":1}`, `{"email-1@example.com":1}`},
		{"whole values", `{"password":"tr0ub4dor","user.id":"cust-118","firstName":"Maya","dob":"1984-02-29","phone":"555-0100"}`,
			`{"password":"secret-1","user.id":"cust-001","firstName":"name-1","dob":"1900-01-02","phone":"000-0001"}`},
		{"learnt by context", `{"text":"Maya asks, cust-118","full_name":"Maya","user_id":"cust-118"}`, `{"text":"name-1 asks, cust-001","full_name":"name-1","user_id":"cust-001"}`},
		{"wrong type of value stays wrong", `{"email":"maya lind"}`, `{"email":"value-1"}`},
		{"otlp attribute", `{"attributes":[{"key":"user.name","value":{"stringValue":"maya"}},{"key":"llm.name","value":{"stringValue":"maya-model"}}]}`,
			`{"attributes":[{"key":"user.name","value":{"stringValue":"user-1"}},{"key":"llm.name","value":{"stringValue":"user-1-model"}}]}`},
		{"header list", `[{"name":"X-Api-Key","value":"0a1b2c"}]`, `[{"name":"X-Api-Key","value":"secret-1"}]`},
		{"json in json in json", `{"a":"{\"b\":\"{\\\"email\\\":\\\"x@acme.org\\\"}\"}"}`, `{"a":"{\"b\":\"{\\\"email\\\":\\\"email-1@example.com\\\"}\"}"}`},
		{"card as a number", `{"n":4111111111111111,"t":1796048633353000000}`, `{"n":4000000000000010,"t":1796048633353000000}`},
		{"number under a personal key", `{"phone":491701234567,"age":30}`, `{"phone":900000000001,"age":30}`},
		{"key with its value", `{"db_secret_token":"xK9fQ2mZ7pL4vR8tY1wN"}`, `{"db_secret_token":"secret-1"}`},
		{"doubled names", `{"a":1,"a":"x@acme.org"}`, `{"a":1,"a":"email-1@example.com"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := r.Session()
			got, err := s.JSON([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Fatalf("\n got  %s (%v)\n want %s", got, err, tt.want)
			}
			if again, err := r.Session().JSON(got); err != nil || string(again) != tt.want {
				t.Errorf("redacting again changed it: %s (%v)", again, err)
			}
			if err := s.Verify(got); err != nil {
				t.Error(err)
			}
		})
	}
	for _, bad := range []string{"", "{", `{"a":1} {}`, "nope", `{"a":}`} {
		if _, err := r.Session().JSON([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestTeamOptions(t *testing.T) {
	r := newRedactor(t, Options{
		Patterns: []Pattern{{Name: "ticket", Regexp: `\bTCK-[0-9]{4}\b`}},
		Keep:     []string{"support@acme.org"},
		Keys:     map[string]Kind{"loyalty-no": "ticket"},
	})
	s := r.Session()
	got, err := s.JSON([]byte(`{"a":"TCK-1234 of support@acme.org","loyaltyNo":"L 77 88"}`))
	want := `{"a":"ticket-1 of support@acme.org","loyaltyNo":"ticket-2"}`
	if err != nil || string(got) != want {
		t.Fatalf("\n got  %s (%v)\n want %s", got, err, want)
	}
	if err := s.Verify(got); err != nil {
		t.Error(err)
	}
	if err := s.Verify([]byte("TCK-9999")); err == nil {
		t.Error("a team pattern passed verify")
	}
	if c := s.Counts(); c["ticket"] != 2 || len(c) != 1 {
		t.Errorf("counts %v", c)
	}
	for _, bad := range []Options{
		{Patterns: []Pattern{{"email", "x"}}}, {Patterns: []Pattern{{"Bad Name", "x"}}}, {Patterns: []Pattern{{"a", "("}}}, {Patterns: []Pattern{{"a", "x*"}}},
		{Patterns: []Pattern{{"a", "x"}, {"a", "y"}}}, {Keys: map[string]Kind{"k": "nosuch"}},
	} {
		if _, err := New(nil, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestSessionSpansCalls(t *testing.T) {
	s := newRedactor(t, Options{}).Session()
	s.Learn(`{"full_name":"Maya Lind"}`)
	if got := s.Text("Maya Lind wrote"); got != "name-1 wrote" {
		t.Error(got)
	}
	if got := s.Text(`{"customer_name":"Bob Roy"}`); got != `{"customer_name":"name-2"}` {
		t.Error(got)
	}
	want := []Replacement{{Name, "name-1", 9, 1}, {Name, "name-2", 7, 1}}
	if got := s.Replaced(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestLibraryIsQuiet: the library must not touch the process-wide configuration nor write to standard error.
func TestLibraryIsQuiet(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = write
	newRedactor(t, Options{}).Session().Text("token = ghp_0123456789abcdefghijABCDEFGHIJ012345")
	os.Stderr = old
	write.Close()
	buf := make([]byte, 100)
	if n, _ := read.Read(buf); n > 0 {
		t.Errorf("standard error: %s", buf[:n])
	}
	if keys := viper.AllKeys(); len(keys) > 0 {
		t.Errorf("global viper holds %d keys: %s", len(keys), strings.Join(keys[:1], ""))
	}
}

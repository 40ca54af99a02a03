package webhook

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-dev/pawl/ingest/flag"
)

// Fields say where a sender whose payload is a template of the team's own puts what a flag holds. Each is a text in which {/pointer} is replaced by what
// stands there in the JSON body, and {@Header} by a header; a pointer may stand alone, without braces. "" is not sent.
type Fields struct {
	Trace    string // the trace's id; also looked for in Reason: "trace_id: ..."
	Service  string // of a window: service.name, or a list of tags with service:NAME among them
	Session  string // of a window: the session's id
	From, To string // of a window; without them it leads to At
	At       string // when it happened
	Reason   string
	Link     string
	Severity string
	Project  string
	Dedup    string // names the delivery, the same each time that it is sent
	Firing   string // "/pointer=a|b": only where one of these words stands there, in any case, something is bad
	Test     string // the same: where one of them stands there it is a test
}

// templates are the fields of the tools whose payloads are templates: their own default where they have one, else the one in testdata/NAME/template.json.
var templates = map[string]Fields{
	"generic": {Trace: "/trace_id", Service: "/service", Session: "/session", From: "/from", To: "/to", At: "/at", Reason: "/reason", Link: "/link", Severity: "/severity", Project: "/project", Dedup: "/id"},
	"datadog": {Trace: "/trace_id", Service: "/tags", At: "/date", Reason: "{/title}: {/text}", Link: "/link", Severity: "/priority",
		Dedup: "{/cycle} {/transition} {/id}", Firing: "/transition=Triggered|Re-Triggered|Warn|Re-Warn|No Data|Re-No Data", Test: "/test=true"},
	"newrelic": {Trace: "/traceId", At: "/createdAt", Reason: "{/title}", Link: "/issueUrl", Severity: "/priority", Dedup: "{/id} {/state}", Firing: "/state=CREATED|ACTIVATED"},
	"honeycomb": {Trace: "/trace_id", Reason: "{/name}: {/summary}", Link: "/result_url", Dedup: "{@X-Honeycomb-Webhook-Delivery-ID}", Firing: "/status=TRIGGERED",
		Test: "/is_test=true"},
	"elastic": {Trace: "/trace_id", Service: "/service", At: "/date", Reason: "{/rule_name}: {/reason}", Link: "/link", Dedup: "{/rule_id} {/alert_id} {/date}", Firing: "/state=active|"},
	"arize":   {Trace: "/trace_id", At: "/timestamp", Reason: "{/event}: {/message}", Link: "/link", Project: "/project", Dedup: "/id"},
}

// Template returns the fields of a tool whose payload is a template. ok is false for a source that is not one.
func Template(name string) (f Fields, ok bool) {
	f, ok = templates[name]
	return f, ok
}

// over returns the fields with those of g in place where they are set.
func (f Fields) over(g Fields) Fields {
	to, from := f.all(), g.all()
	for i := range to {
		if *from[i] != "" {
			*to[i] = *from[i]
		}
	}
	return f
}

func (f *Fields) all() []*string {
	return []*string{&f.Trace, &f.Service, &f.Session, &f.From, &f.To, &f.At, &f.Reason, &f.Link, &f.Severity, &f.Project, &f.Dedup, &f.Firing, &f.Test}
}

var hole = regexp.MustCompile(`\{([/@][^{}]*)\}`)

// check says what is wrong with the fields before any delivery comes.
func (f Fields) check() error {
	for _, t := range f.all() {
		for _, m := range hole.FindAllStringSubmatch(*t, -1) {
			if m[1][0] == '/' && !jsontext.Pointer(m[1]).IsValid() {
				return fmt.Errorf("{%s} is no JSON pointer", m[1])
			}
		}
		if strings.HasPrefix(*t, "/") && t != &f.Firing && t != &f.Test && !jsontext.Pointer(*t).IsValid() {
			return fmt.Errorf("%s is no JSON pointer", *t)
		}
	}
	for _, t := range []string{f.Firing, f.Test} {
		if at, words, ok := strings.Cut(t, "="); t != "" && (!ok || words == "" || !strings.HasPrefix(at, "/") || !jsontext.Pointer(at).IsValid()) {
			return fmt.Errorf("%q is not of the form /pointer=word|word", t)
		}
	}
	return nil
}

// generic reads a payload by its fields. A form is read as an object of its fields, or as the JSON in its field payload.
func generic(f Fields) reader {
	return func(d Delivery, now time.Time) (Reading, error) {
		body, err := asJSON(d)
		if err != nil {
			return Reading{}, err
		}
		d.Body = body
		get := func(t string) string { return fill(t, d) }
		key := strings.TrimSpace(get(f.Dedup))
		switch {
		case f.Test != "" && is(f.Test, d):
			return Reading{Key: key, Test: true, Why: "a test"}, nil
		case f.Firing != "" && !is(f.Firing, d):
			return ignored(key, "nothing fires: %s does not hold", f.Firing), nil
		}
		out := flag.Flag{Reason: strings.Trim(get(f.Reason), " :"), Link: get(f.Link), Severity: get(f.Severity), Project: get(f.Project)}
		id := get(f.Trace)
		if flag.Normal(id) == "" {
			id = joined("", mentioned(out.Reason))
		}
		w := between(instant(get(f.From)), instant(get(f.To)), now, serviceOf(get(f.Service)))
		if get(f.From) == "" {
			w = leadingTo(instant(get(f.At)), now, w.Service)
		}
		w.Session = get(f.Session)
		return Reading{Key: key, Claims: []Claim{{key, on(out, id, w)}}}, nil
	}
}

// fill replaces what stands in braces, and a pointer that stands alone.
func fill(t string, d Delivery) string {
	if isPointer(t) {
		return fieldOf(d.Body, jsontext.Pointer(t))
	}
	return hole.ReplaceAllStringFunc(t, func(m string) string {
		name := m[1 : len(m)-1]
		if header, ok := strings.CutPrefix(name, "@"); ok {
			return d.Header.Get(header)
		}
		return fieldOf(d.Body, jsontext.Pointer(name))
	})
}

// is says whether one of the words of "/pointer=a|b" stands there. An empty word stands for nothing there.
func is(cond string, d Delivery) bool {
	at, words, _ := strings.Cut(cond, "=")
	have := fieldOf(d.Body, jsontext.Pointer(at))
	return slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool { return strings.EqualFold(strings.TrimSpace(w), strings.TrimSpace(have)) })
}

// serviceOf is the service that a list of tags names, or the text itself where it is no such list.
func serviceOf(text string) string {
	for tag := range strings.SplitSeq(text, ",") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(tag), "service:"); ok {
			return name
		}
	}
	if strings.ContainsAny(text, ",:") {
		return ""
	}
	return text
}

// asJSON is the body of a delivery as JSON, whether it came as JSON or as a form.
func asJSON(d Delivery) ([]byte, error) {
	if mediaType(d.Header) != "application/x-www-form-urlencoded" {
		if !jsontext.Value(d.Body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			return nil, fmt.Errorf("%w: no JSON", ErrMalformed)
		}
		return d.Body, nil
	}
	form, err := url.ParseQuery(string(d.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if p := form.Get("payload"); jsontext.Value(p).IsValid() {
		return []byte(p), nil
	}
	return formJSON(form)
}

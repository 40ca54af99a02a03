package github

import (
	"bytes"
	"io"
	"net/http"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	keptAnswers = 256       // of the reads that were made last
	keptSize    = 128 << 10 // bytes of an answer that is worth keeping
)

// kept are answers to reads, by what was asked. A read that was made before is asked with the tag of its answer: where nothing changed, GitHub says so in a
// few bytes and does not count it against the limit. Nothing is ever answered from here without asking.
type kept struct{ answers *lru.Cache[string, reply] }

type reply struct {
	tag    string
	header http.Header // of the first time: it names the next page
	body   []byte
}

func newKept() kept {
	c, _ := lru.New[string, reply](keptAnswers) // it refuses a size below 1 only
	return kept{c}
}

func askedFor(req *http.Request) string { return req.Header.Get("Accept") + " " + req.URL.String() }

// ask adds the tag of what is known to a read, and gives what is known.
func (k kept) ask(req *http.Request) (known reply, ok bool) {
	if req.Method != http.MethodGet {
		return reply{}, false
	}
	if known, ok = k.answers.Get(askedFor(req)); ok {
		req.Header.Set("If-None-Match", known.tag)
	}
	return known, ok
}

// keep remembers the answer to a read.
func (k kept) keep(req *http.Request, resp *http.Response, body []byte) {
	tag := resp.Header.Get("ETag")
	if req.Method != http.MethodGet || resp.StatusCode != http.StatusOK || tag == "" || len(body) > keptSize {
		return
	}
	header := resp.Header.Clone()
	for _, h := range []string{"Limit", "Remaining", "Reset", "Used"} {
		header.Del("X-RateLimit-" + h)
	}
	k.answers.Add(askedFor(req), reply{tag, header, body})
}

// again makes an answer that nothing changed into the answer itself; the limits are the new one's.
func (a reply) again(resp *http.Response) {
	header := a.header.Clone()
	for name, values := range resp.Header {
		if name != "Content-Length" {
			header[name] = values
		}
	}
	resp.Header, resp.StatusCode, resp.Status = header, http.StatusOK, "200 OK"
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
}

package otlp

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/pawl-dev/pawl/ingest/otlp/wire"
)

const viaHTTP = "http"

func (r *Receiver) newHTTP() *http.Server {
	return &http.Server{
		Handler:           r,
		TLSConfig:         r.opt.TLS.Clone(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		IdleTimeout:       3 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(r.lg.Handler(), slog.LevelDebug), // one line per scanner that speaks no TLS
	}
}

// signalOf finds the signal by the end of the path, so that /v1/traces and the vendors' longer paths all work.
func signalOf(path string) (wire.Signal, bool) {
	path = strings.TrimRight(path, "/")
	switch {
	case strings.HasSuffix(path, "/v1/traces"):
		return wire.Traces, true
	case strings.HasSuffix(path, "/v1/logs"):
		return wire.Logs, true
	}
	return 0, false
}

// ServeHTTP answers one request. Whoever has an HTTP server of his own may so receive on it: gRPC too, where that server speaks HTTP/2. The context of
// the request reaches [Publish].
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.ProtoMajor == 2 && strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc") {
		r.grpc.ServeHTTP(w, req)
		return
	}
	signal, known := signalOf(req.URL.Path)
	if !known {
		r.serveOther(w, req)
		return
	}
	a := answer{w: w, json: isJSON(req.Header.Get("Content-Type"))}
	if bad := r.precheck(a, req); bad != "" {
		r.counts.unread(viaHTTP, signal.String(), bad)
		return
	}
	held := share{of: r.room}
	defer held.keep(0)
	body, bad := r.readBody(a, req, &held)
	if bad != "" {
		r.counts.unread(viaHTTP, signal.String(), bad)
		return
	}
	format, known := formatOf(req.Header.Get("Content-Type"), body)
	a.json = format
	if !known {
		a.fail(http.StatusUnsupportedMediaType, codes.InvalidArgument, "content type %q: want application/x-protobuf or application/json",
			req.Header.Get("Content-Type"))
		r.counts.unread(viaHTTP, signal.String(), "content_type")
		return
	}
	report, err := r.Export(req.Context(), Request{Signal: signal, JSON: format, Body: body, Via: viaHTTP})
	if err != nil {
		a.refuse(refuse(err))
		return
	}
	a.success(signal, report)
}

// serveOther answers what is not an export: a greeting, health, and errors that say where to send.
func (r *Receiver) serveOther(w http.ResponseWriter, req *http.Request) {
	path := strings.TrimRight(req.URL.Path, "/")
	get := req.Method == http.MethodGet || req.Method == http.MethodHead
	switch {
	case get && path == "":
		_, _ = io.WriteString(w, "pawl receives OTLP here: POST /v1/traces or /v1/logs, protobuf or JSON.\n") // the client may be gone
	case get && (path == "/healthz" || path == "/health" || path == "/readyz"):
		_, _ = io.WriteString(w, "ok\n") // likewise
	default:
		a := answer{w: w, json: isJSON(req.Header.Get("Content-Type"))}
		a.fail(http.StatusNotFound, codes.Unimplemented, "nothing is received at %s: send traces to /v1/traces, logs to /v1/logs", short(req.URL.Path))
	}
}

// precheck refuses by the headers alone. It returns the outcome for the counters, empty to go on.
func (r *Receiver) precheck(a answer, req *http.Request) string {
	switch {
	case req.Method != http.MethodPost:
		a.w.Header().Set("Allow", http.MethodPost)
		a.fail(http.StatusMethodNotAllowed, codes.Unimplemented, "method %s: want POST", short(req.Method))
		return "method"
	case !r.tokens.admit(req.Header.Get("Authorization")):
		a.w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
		a.fail(http.StatusUnauthorized, codes.Unauthenticated, "send the header Authorization: Bearer with a token that this receiver knows")
		return "unauthorized"
	case req.ContentLength > int64(r.opt.MaxWire):
		r.tooLarge(a, req.ContentLength)
		return "too_large"
	}
	if _, known := formatOf(req.Header.Get("Content-Type"), nil); !known {
		a.fail(http.StatusUnsupportedMediaType, codes.InvalidArgument, "content type %q: want application/x-protobuf or application/json",
			short(req.Header.Get("Content-Type")))
		return "content_type"
	}
	return ""
}

func (r *Receiver) tooLarge(a answer, size int64) {
	a.fail(http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "%d bytes are more than a request may have (%d); have the exporter send smaller batches",
		size, r.opt.MaxWire)
}

// readBody reads and inflates. Bad is the outcome for the counters where it answered with an error.
func (r *Receiver) readBody(a answer, req *http.Request, held *share) (body []byte, bad string) {
	said, known := codingOf(req.Header.Get("Content-Encoding"))
	if !known {
		a.fail(http.StatusUnsupportedMediaType, codes.InvalidArgument, "content encoding %q: want gzip, zstd, deflate or identity",
			short(req.Header.Get("Content-Encoding")))
		return nil, "encoding"
	}
	raw, err := readAll(http.MaxBytesReader(a.w, req.Body, int64(r.opt.MaxWire)), req.ContentLength)
	r.counts.wire(viaHTTP, len(raw))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		r.tooLarge(a, int64(len(raw))+1)
		return nil, "too_large"
	}
	if err != nil {
		a.fail(http.StatusBadRequest, codes.InvalidArgument, "the body ended early: %v", err)
		return nil, "cut_off"
	}
	body, err = r.inflate(req.Context(), held, raw, sniff(raw, said))
	if _, ok := errors.AsType[*FullError](err); ok {
		a.refuse(refuse(err))
		return nil, "full"
	}
	if errors.Is(err, errTooMuch) {
		a.fail(http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "the body inflates to more than a request may have (%d bytes); have the exporter send smaller batches",
			r.opt.MaxInflated)
		return nil, "too_large"
	}
	if err != nil {
		a.fail(http.StatusBadRequest, codes.InvalidArgument, "%v", err)
		return nil, "damaged"
	}
	return body, ""
}

// readAll reads to the end, into a buffer of the announced size where that is sane: a header alone must not make us
// allocate much.
func readAll(r io.Reader, announced int64) ([]byte, error) {
	body := make([]byte, 0, max(512, min(announced+1, 1<<20)))
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

func isJSON(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/json"
}

// formatOf tells JSON from protobuf by the content type, and where that is missing by the first byte.
func formatOf(contentType string, body []byte) (json, known bool) {
	if strings.TrimSpace(contentType) == "" {
		return len(body) > 0 && body[0] == '{', true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false, false
	}
	switch kind {
	case "application/json":
		return true, true
	case "application/x-protobuf", "application/protobuf":
		return false, true
	}
	return false, false
}

// answer writes responses in the request's own content type.
type answer struct {
	w    http.ResponseWriter
	json bool
}

func (a answer) send(status int, body []byte) {
	kind := "application/x-protobuf"
	if a.json {
		kind = "application/json"
	}
	a.w.Header().Set("Content-Type", kind)
	a.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body) // the client may be gone; there is nobody to tell
}

func (a answer) success(s wire.Signal, report wire.Report) {
	if a.json {
		a.send(http.StatusOK, responseJSON(s, report))
		return
	}
	a.send(http.StatusOK, response(report))
}

func (a answer) fail(status int, code codes.Code, format string, args ...any) {
	message := short(fmt.Sprintf(format, args...))
	if a.json {
		a.send(status, statusJSON(code, message))
		return
	}
	a.send(status, statusProto(code, message))
}

func (a answer) refuse(why refusal) {
	switch {
	case why.again:
		a.w.Header().Set("Retry-After", strconv.Itoa(max(1, int((why.after+time.Second-1)/time.Second))))
		a.fail(http.StatusServiceUnavailable, codes.Unavailable, "%s", why.message)
	case why.outcome == "too_large":
		a.fail(http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "%s", why.message)
	default:
		a.fail(http.StatusBadRequest, codes.InvalidArgument, "%s", why.message)
	}
}

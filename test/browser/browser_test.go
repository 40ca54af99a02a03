// Package browser drives pawl's pages in a real browser: every decision by mouse and by keys alone, without script too, and what an accessibility checker says.
//
// It needs chromium (or google-chrome) on the path, and skips without. PAWL_AXE names axe.min.js of the npm package axe-core for the checker; PAWL_SHOTS a
// directory to which screenshots go.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	devtools "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pawl-dev/pawl/test/seed"
)

// service is a pawl that runs on a seeded directory.
type service struct{ url string }

var binary string // built once

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pawl-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "pawl")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			return at
		}
	}
	t.Skip("no chromium is on the path")
	return ""
}

// start runs pawl on a directory with groups and traces in it. more is added to pawl.yaml.
func start(t *testing.T, groups, traces int, more string) service {
	t.Helper()
	chromium(t)
	if _, err := os.Stat(binary); err != nil {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/pawl").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir := t.TempDir()
	if err := seed.Fill(t.Context(), filepath.Join(dir, "data"), groups, traces); err != nil {
		t.Fatal(err)
	}
	yaml := "data_dir: " + filepath.Join(dir, "data") + "\nlisten: {otlp_grpc: null, otlp_http: null, http: \"127.0.0.1:0\"}\nassemble: {root_grace: 1s}\n" +
		"targets: [{service: \"*\", repo: acme/agents, base: main, set: regressions}]\n" + more
	config := filepath.Join(dir, "pawl.yaml")
	if err := os.WriteFile(config, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--json", "-c", config)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it may end by the signal
		if text := log.String(); t.Failed() {
			t.Logf("the service's log, its end:\n%s", text[max(0, len(text)-3000):])
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var at struct {
		HTTP string `json:"http"`
	}
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		t.Fatalf("pawl serve printed %q: %v\n%s", line, err, log.String())
	}
	return service{"http://" + at.HTTP}
}

// get reads JSON of the API.
func (s service) get(t *testing.T, path string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v %.300s", path, res.Status, err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// page is a tab of the browser.
type page struct {
	t   *testing.T
	ctx context.Context
	url string

	mu     sync.Mutex
	broken []string // exceptions of scripts
}

// watch notes in a page what its policy refused.
const watch = `addEventListener("securitypolicyviolation", (e) => (window.refused ??= []).push(e.violatedDirective + " " + e.blockedURI + " " + e.sample))`

// open opens a browser's tab for a service.
func open(t *testing.T, s service) *page {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.Flag("hide-scrollbars", true))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	p := &page{t: t, ctx: ctx, url: s.url}
	err := chromedp.Listen(ctx, func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.broken = append(p.broken, fmt.Sprintf("%s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, devtools.AddScriptToEvaluateOnNewDocument, devtools.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const patience = 20 * time.Second // of one action, on a busy machine

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, p.looks())
	}
}

// value evaluates an expression.
func value[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", expression, err, p.looks())
	}
	return v
}

// looks is what the page says, for a test that failed.
func (p *page) looks() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.querySelector("main")?.innerText.slice(0, 1500)`))
	if err != nil {
		return err.Error()
	}
	return text
}

// visit goes to a path and waits for the page.
func (p *page) visit(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url+path), chromedp.WaitReady("main"))
	p.sound()
}

// press presses keys, where the focus is. A key is one event with its text, as a keyboard sends it: where the page takes the key, the text goes nowhere.
func (p *page) press(keys string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		if len(events) == 3 {
			down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, events[1].Text, events[1].UnmodifiedText
		}
		for _, e := range []input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, e); err != nil {
				p.t.Fatalf("%q: %v", r, err)
			}
		}
	}
}

// called gives the browser the name of a person.
func (p *page) called(name string) {
	p.t.Helper()
	p.visit("/name")
	p.do(chromedp.SendKeys("#name", name), chromedp.Submit("#name"))
	p.await("the name is shown", `document.querySelector(".who b")?.textContent === `+quoted(name))
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// await waits until an expression holds, on this page or one that takes its place, and the page is loaded.
func (p *page) await(what, expression string) {
	p.t.Helper()
	var err error
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(30 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		var ok bool
		ok, err = chromedp.Run(ctx, chromedp.Evaluate[bool](`document.readyState === "complete" && Boolean(`+expression+`)`))
		cancel()
		if err == nil && ok {
			return
		}
	}
	p.t.Fatalf("%s: %v\n%s", what, err, p.looks())
}

// sound fails the test if a script broke or the policy refused something.
func (p *page) sound() {
	p.t.Helper()
	p.mu.Lock()
	broken := p.broken
	p.mu.Unlock()
	if refused := value[[]string](p, `window.refused ?? []`); len(broken)+len(refused) > 0 {
		p.t.Errorf("the page broke: %v %v", broken, refused)
	}
}

// as shows pages at a width, and dark or light.
func (p *page) as(width int64, scheme string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, 900))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		p.t.Fatal(err)
	}
}

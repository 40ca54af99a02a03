package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// everyPage are the paths of one page of each kind, of what a service has.
func everyPage(t *testing.T, s service) []string {
	t.Helper()
	pages := []string{"/", "/?life=all&sort=count", "/?q=nothing+fits+this", "/traces", "/pulls", "/rules", "/set", "/ingest", "/audit", "/nothing-is-here"}
	var gs []struct {
		ID     string   `json:"id"`
		Label  string   `json:"label"`
		Traces []string `json:"traces"`
	}
	s.get(t, "/v1/groups?sort=count&limit=100", &gs)
	kinds := map[bool]bool{}
	for _, g := range gs {
		if plain := g.Label == "unclassified"; !kinds[plain] {
			kinds[plain] = true
			pages = append(pages, "/groups/"+g.ID)
		}
	}
	gs = nil
	s.get(t, "/v1/groups?service=parcel-desk&limit=1", &gs) // of traces that were judged: their cases can be made
	for _, g := range gs {
		pages = append(pages, "/groups/"+g.ID+"/case")
	}
	var kept struct {
		Traces []struct {
			ID      string  `json:"id"`
			Verdict *string `json:"verdict"`
		} `json:"traces"`
	}
	s.get(t, "/v1/traces?verdict=failing&limit=1", &kept)
	for _, k := range kept.Traces {
		pages = append(pages, "/traces/"+k.ID, "/traces/"+k.ID+"/raw")
	}
	var services []struct {
		Name string `json:"name"`
	}
	s.get(t, "/v1/services", &services)
	if len(services) > 0 {
		pages = append(pages, "/services?name="+services[0].Name)
	}
	var batches []any
	if s.get(t, "/v1/batches", &batches); len(batches) > 0 {
		pages = append(pages, "/batches/0")
	}
	return pages
}

// TestScreenshots takes pictures of every page at 1280 and 400 pixels, light and dark, with 0, 3 and 10,000 groups, for people to look at. It fails where a page
// is wider than the screen.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("PAWL_SHOTS")
	if dir == "" {
		t.Skip("PAWL_SHOTS names no directory")
	}
	for _, n := range []int{0, 3, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := start(t, n, min(2*n, 300), "")
			p := open(t, s)
			if n > 0 {
				awaitTraces(t, s)
				p.called("Ana")
			}
			for _, path := range everyPage(t, s) {
				for _, scheme := range []string{"light", "dark"} {
					for _, width := range []int64{1280, 400} {
						p.as(width, scheme)
						p.visit(path)
						p.fits(path, width)
						png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
						if err != nil {
							t.Fatal(err)
						}
						name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(path), "-"), "-")
						file := filepath.Join(dir, fmt.Sprintf("%d-%s-%d-%s.png", n, name[:min(len(name), 20)]+name[max(min(len(name), 20), len(name)-5):], width, scheme))
						if err := os.WriteFile(file, png, 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			p.sound()
		})
	}
}

// fits fails where the page is to be scrolled sideways.
func (p *page) fits(path string, width int64) {
	p.t.Helper()
	if wide := value[int64](p, "document.documentElement.scrollWidth"); wide > width {
		what := value[[]string](p, `[...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, nav, .tabs, pre")).map((e) => e.tagName + "." + e.className).slice(0, 5)`)
		p.t.Errorf("%s is %d pixels wide on a screen of %d: %v", path, wide, width, what)
	}
}

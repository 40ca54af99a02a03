package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// measure asks for each page a number of times, one after the other, and prints the median and the longest time to its last byte.
func measure(ctx context.Context, base string, times int) error {
	pages, err := pagesOf(ctx, base)
	if err != nil {
		return err
	}
	fmt.Printf("%-34s %9s %9s %9s\n", "page", "median", "longest", "bytes")
	for _, p := range pages {
		took := make([]time.Duration, times)
		size := 0
		for i := range took {
			began := time.Now()
			body, err := ask(ctx, base+p)
			if err != nil {
				return err
			}
			took[i], size = time.Since(began), len(body)
		}
		slices.Sort(took)
		fmt.Printf("%-34.34s %9s %9s %9d\n", p, took[times/2].Round(100*time.Microsecond), took[times-1].Round(100*time.Microsecond), size)
	}
	return nil
}

// pagesOf are the pages, one of each kind.
func pagesOf(ctx context.Context, base string) ([]string, error) {
	pages := []string{"/", "/?life=all&sort=count&page=100", "/?q=refund", "/pulls", "/batches/0", "/rules", "/services?name=shop-assistant", "/set", "/ingest", "/audit", "/traces", "/traces?verdict=failing", "/traces?verdict=unclassified&label=loop"}
	body, err := ask(ctx, base+"/v1/groups?sort=count&limit=1")
	if err != nil {
		return nil, err
	}
	var gs []struct {
		ID     string   `json:"id"`
		Traces []string `json:"traces"`
	}
	if err := json.Unmarshal(body, &gs); err != nil || len(gs) == 0 {
		return pages, err
	}
	pages = append(pages, "/groups/"+gs[0].ID)
	if len(gs[0].Traces) > 0 {
		pages = append(pages, "/traces/"+gs[0].Traces[0], "/traces/"+gs[0].Traces[0]+"/raw")
	}
	return pages, nil
}

func ask(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(url, "/v1/") {
		req.Header.Set("Accept", "text/html")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, res.Status, body)
	}
	return body, err
}

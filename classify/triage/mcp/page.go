package mcp

import (
	"fmt"
	"strconv"
	"strings"
)

// Page tells how a list goes on.
type Page struct {
	Next string `json:"next" jsonschema:"give it as cursor for what follows; empty at the end"`
	Note string `json:"note" jsonschema:"what was left out, if anything"`
}

const (
	usualPage   = 20
	largestPage = 50
)

func pageSize(limit int) (int, error) {
	switch {
	case limit == 0:
		return usualPage, nil
	case limit < 0 || limit > largestPage:
		return 0, fmt.Errorf("limit is a number from 1 to %d", largestPage)
	}
	return limit, nil
}

// place is where a list goes on: so many items of the service's page that this cursor opens were shown.
type place struct {
	skip   int
	cursor string
}

func (p place) String() string { return strconv.Itoa(p.skip) + "." + p.cursor }

func placeOf(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	n, rest, ok := strings.Cut(cursor, ".")
	skip, err := strconv.Atoi(n)
	if !ok || err != nil || skip < 0 {
		return place{}, errCursor
	}
	return place{skip, rest}, nil
}

var errCursor = fmt.Errorf("cursor is none that this tool gave: begin again without it")

// fill shows items until the next one would not fit into room bytes, or limit are shown; the first one is always shown.
func fill[T any](n, limit, room int, item func(int) T) (shown []T, done int) {
	shown = []T{}
	for done < n && done < limit {
		x := item(done)
		text, err := encode(x)
		if err != nil || done > 0 && len(text)+1 > room {
			break
		}
		room -= len(text) + 1
		shown = append(shown, x)
		done++
	}
	return shown, done
}

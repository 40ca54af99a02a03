// Command prices renews the two embedded tables of models: classify/price/prices.json (USD per million tokens) and
// classify/rule/windows.json (context windows). It takes the public list of the project pydantic/genai-prices as one JSON array: the file
// prices/data.json of a checkout, or the array that dist/index.js of its npm package @pydantic/genai-prices begins with, written as JSON.
//
//	go run ./test/prices -list data.json -source "pydantic/genai-prices, commit 47df840" -date 2026-08-21
//
// Run it from the repository's root, read the diff, and run the tests of both packages. It is a tool for developers; nothing runs it by itself.
// What it leaves out it names on stderr: models that are no text models, prices that depend on the hour or come per request, and rules by
// which the list matches names too widely to be sure.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "prices:", err)
		os.Exit(1)
	}
}

func run() error {
	list := flag.String("list", "", "the public list, as JSON")
	source := flag.String("source", "", "what the list is: project and commit or version")
	date := flag.String("date", "", "the list's date, YYYY-MM-DD")
	flag.Parse()
	if _, err := time.Parse(time.DateOnly, *date); err != nil || *list == "" || *source == "" {
		flag.Usage()
		return fmt.Errorf("-list, -source and -date are needed")
	}
	data, err := os.ReadFile(*list)
	if err != nil {
		return err
	}
	var providers []provider
	if err := json.Unmarshal(data, &providers); err != nil {
		return fmt.Errorf("%s: %w", *list, err)
	}
	head := header{AsOf: *date, Source: *source}
	models := modelsOf(providers)
	if err := writeTable("classify/price/prices.json", head, pricesNote, models); err != nil {
		return err
	}
	return renewWindows("classify/rule/windows.json", head, providers)
}

const pricesNote = "USD per million tokens. A model is its provider and any of its names, or one of them with a date of release behind it. cache_read, cache_write, " +
	"audio_in and audio_out are as input and output where they are left out. A tier holds for the whole call once its input is above so many tokens. Of entries with " +
	"one name, the one with the latest `from` that is not after the call holds. Fees beside tokens (searches, storage, one-hour cache writes) are not in it."

// header is the head of a table.
type header struct {
	AsOf   string `json:"as_of"`
	Source string `json:"source"`
	Note   string `json:"note"`
}

// writeTable writes a table with one model a line, so that a renewal reads well as a diff.
func writeTable[M any](path string, h header, note string, models []M) error {
	var b bytes.Buffer
	h.Note = note
	head, err := lineOf(h)
	if err != nil {
		return err
	}
	b.WriteString(head[:len(head)-1] + ",\n\"models\": [\n")
	for i, m := range models {
		text, err := lineOf(m)
		if err != nil {
			return err
		}
		b.WriteString("  " + text)
		if i < len(models)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	fmt.Fprintf(os.Stderr, "%s: %d entries\n", path, len(models))
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// lineOf is a value as JSON in one line, with & and < as they are.
func lineOf(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

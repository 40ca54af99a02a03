package wire

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzWalk holds the promise on which group commit rests: what Walk accepts and a filter made clean, pdata decodes, alone
// and concatenated; and cutting loses and doubles nothing.
func FuzzWalk(f *testing.F) {
	f.Add(tracesBody(f, sampleTraces(seeded(1), 3)))
	f.Add(marshal(f, Data{Signal: Logs, Logs: sampleLogs(seeded(1), 3)}))
	f.Add(rawRequest(join2(goodIDs(), lenField(5, []byte("\xff")))))
	f.Add(lenField(1, lenField(deprecatedScopes, lenField(2, goodIDs()))))
	other := tracesBody(f, sampleTraces(seeded(2), 2))
	filter := mustFilter(f, Scrub{Drop: []string{"a*"}, Mask: []string{"b*", "/c/"}}, 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, s := range []Signal{Traces, Logs} {
			survey, err := Walk(s, body)
			if err == nil && !survey.Dirty {
				if _, err := unmarshal(s, body); err != nil {
					t.Fatalf("walk accepts what the decoder refuses: %v", err)
				}
			}
			clean, report, applied := filter.Apply(s, body)
			if (err == nil) != (applied == nil) {
				t.Fatalf("walk %v, apply %v", err, applied)
			}
			if err != nil {
				continue
			}
			checkClean(t, s, clean, report)
			if s == Traces {
				if d, _ := decoded(t, s, join2(clean, other)); len(spansOf(d)) != report.Spans+2 {
					t.Fatal("spans lost by concatenation")
				}
			}
		}
	})
}

func checkClean(t *testing.T, s Signal, clean []byte, report Report) {
	survey, err := Walk(s, clean)
	if err != nil || survey.Dirty || survey.Spans != report.Spans || survey.ZeroIDs != 0 {
		t.Fatalf("not clean: %+v, %+v, %v", survey, report, err)
	}
	whole, err := unmarshal(s, clean)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Cut(s, clean, 4, 300)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range parts {
		d, err := unmarshal(s, p.Body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, itemKeys(d)...)
	}
	slices.Sort(all)
	if !slices.Equal(all, itemKeys(whole)) {
		t.Fatalf("cut: %d of %d items", len(all), len(itemKeys(whole)))
	}
}

// FuzzJSON: any text is either refused or becomes a body that decodes, to the same as its protobuf form.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(oneSpan(`"attributes":[{"key":"k","value":{"doubleValue":NaN}}],"kind":"CLIENT","status":{"code":2},`)))
	f.Add([]byte(oneSpan(`"attributes":{"a":{"b":[1,{"intValue":"2"}]}},"startTimeUnixNano":{"high":1,"low":2},`)))
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"` + hexTrace + `","body":{"kvlistValue":{"values":[{"key":"a","value":{}}]}}}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range []Signal{Traces, Logs} {
			body, _, err := Transcode(s, text)
			if err != nil {
				continue
			}
			fromProto, _, err := Decode(s, body)
			if err != nil {
				t.Fatalf("transcoded to what does not decode: %v", err)
			}
			fromJSON, report, err := DecodeJSON(s, text)
			if err != nil || !bytes.Equal(marshal(t, fromJSON), marshal(t, fromProto)) {
				t.Fatalf("unequal: %v", err)
			}
			if n := len(itemKeys(fromJSON)); n != report.Spans {
				t.Fatalf("%d items, %d reported", n, report.Spans)
			}
		}
	})
}

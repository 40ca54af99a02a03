package wire

import "testing"

// looseLogs are three records: one of a trace, one of none with something to scrub, one whose trace id is broken.
const looseLogs = `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"agent"}}]},"scopeLogs":[{"scope":{"name":"s"},"logRecords":[
 {"traceId":"00000000000000000000000000000001","body":{"stringValue":"traced"}},
 {"eventName":"loose","attributes":[{"key":"user.email","value":{"stringValue":"a@example.com"}},{"key":"key","value":{"stringValue":"sk-1"}}]},
 {"traceId":"zz","body":{"stringValue":"broken"}}]}]}]}`

func TestUntraced(t *testing.T) {
	body, _, err := Transcode(Logs, []byte(looseLogs))
	if err != nil {
		t.Fatal(err)
	}
	f := mustFilter(t, Scrub{Drop: []string{"user.email"}, Mask: []string{`/sk-[a-z0-9]+/`}}, 0)
	kept, report, err := f.Apply(Logs, body)
	if err != nil || report.Spans != 1 || report.Untraced != 1 || report.Rejected.Count != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	ld, err := f.Untraced(body)
	if err != nil || ld.LogRecordCount() != 1 {
		t.Fatalf("%d records, %v", ld.LogRecordCount(), err)
	}
	rl := ld.ResourceLogs().At(0)
	r := rl.ScopeLogs().At(0).LogRecords().At(0)
	service, _ := rl.Resource().Attributes().Get("service.name")
	if key, _ := r.Attributes().Get("key"); r.EventName() != "loose" || r.Attributes().Len() != 1 || key.Str() == "sk-1" || service.Str() != "agent" ||
		rl.ScopeLogs().At(0).Scope().Name() != "s" {
		t.Errorf("%v %v", r.EventName(), r.Attributes().AsRaw())
	}
	if ld, err := f.Untraced(kept); err != nil || ld.LogRecordCount() != 0 {
		t.Errorf("what Apply kept has %d: %v", ld.LogRecordCount(), err)
	}
}

func TestDecodeKeepsUntracedApart(t *testing.T) {
	d, report, err := DecodeJSON(Logs, []byte(looseLogs))
	if err != nil || report.Untraced != 1 || d.Logs.LogRecordCount() != 1 || d.Untraced == nil || d.Untraced.LogRecordCount() != 1 || len(d.AllLogs()) != 2 {
		t.Fatalf("%+v %v", report, err)
	}
	d, _, err = Decode(Logs, marshal(t, Data{Signal: Logs, Logs: sampleLogs(seeded(1), 3)}))
	if err != nil || d.Untraced != nil || len(d.AllLogs()) != 1 {
		t.Errorf("%v %v", d.Untraced, err)
	}
	if d := (Data{Signal: Traces}); d.AllLogs() != nil {
		t.Error("traces hold logs")
	}
}

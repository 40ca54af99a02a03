package regcase

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestMeasures(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	old := Measure{Case: "b", Agent: "desk", At: at, Runs: 10, Differs: 0.5}
	b, err := EncodeMeasures([]Measure{old, {Case: "a", Agent: "desk", Commit: "abc", At: at, Runs: 4}, {Case: "b", Agent: "desk", At: at.Add(time.Hour), Runs: 9, Differs: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeMeasures(b)
	if err != nil || len(got) != 2 || got[0].Case != "a" || got[1].Runs != 9 {
		t.Errorf("%+v %v", got, err)
	}
	if again, err := EncodeMeasures(got); err != nil || !bytes.Equal(b, again) {
		t.Errorf("%s %v", again, err)
	}
	for _, bad := range []string{"", "[]", `{"apiVersion":"pawl/v9","kind":"Variance","measures":[]}`, strings.Replace(string(b), "0.1", "1.1", 1),
		strings.Replace(string(b), `"runs": 4`, `"runs": 0`, 1), strings.Replace(string(b), `"runs"`, `"ran"`, 1)} {
		if _, err := DecodeMeasures([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

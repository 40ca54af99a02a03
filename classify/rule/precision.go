package rule

import (
	_ "embed" // the measurements
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

//go:embed precision.json
var precisionFile []byte

// Precision is how many findings of one version of a rule were judged against the truth, and how many of them hold: Low and High bound the share with
// 95 % confidence.
type Precision struct {
	Judged int     `json:"judged"`
	Right  int     `json:"right"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Set    string  `json:"set"`  // what they were judged on
	Date   string  `json:"date"` // 2006-01-02
}

// Measured returns what is known of versions of rules, by name@version, as the scoring program wrote it. A version that is not there was not measured.
func Measured() (map[string]Precision, error) {
	var out map[string]Precision
	if err := json.Unmarshal(precisionFile, &out, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("classify/rule/precision.json: %w", err)
	}
	for id, p := range out {
		if p.Right < 0 || p.Judged < p.Right || p.Low > p.High {
			return nil, fmt.Errorf("classify/rule/precision.json: %s: %d of %d in %.2f to %.2f cannot be", id, p.Right, p.Judged, p.Low, p.High)
		}
		if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
			return nil, fmt.Errorf("classify/rule/precision.json: %s: %w", id, err)
		}
	}
	return out, nil
}

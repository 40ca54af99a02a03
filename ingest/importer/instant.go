package importer

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// instant reads a point in time of any form: a number (or its text) of nanoseconds, microseconds, milliseconds or seconds,
// told apart by size; a pair of seconds and nanoseconds; ISO 8601 with or without a zone, where none means UTC. Nothing,
// null, zero and what cannot be read are 0; the latter is noted.
func (x *export) instant(v jsontext.Value) pcommon.Timestamp {
	if absent(v) {
		return 0
	}
	if v[0] == '[' {
		var pair []int64
		_ = elements(v, func(e jsontext.Value) error {
			n, _ := strconv.ParseInt(textOf(e), 10, 64)
			pair = append(pair, n)
			return nil
		})
		if len(pair) == 2 && pair[0] >= 0 && pair[0] < maxSeconds && pair[1] >= 0 {
			return pcommon.Timestamp(pair[0])*1e9 + pcommon.Timestamp(pair[1])
		}
	}
	text := strings.TrimSpace(textOf(v))
	if ts, ok := numericInstant(text); ok {
		return ts
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return timestamp(t)
		}
	}
	if text != "" {
		x.note("times that could not be read (such as %.40q) were left out", firstOf(text))
	}
	return 0
}

// firstOf keeps the shape of a text, so that one note stands for all times that are written alike.
func firstOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, text)
}

const maxSeconds = math.MaxInt64 / 1_000_000_000

var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05.999999999 MST", "2006-01-02",
}

// timestamp is 0 for what lies before 1970 or after 2262: such a time is nobody's.
func timestamp(t time.Time) pcommon.Timestamp {
	if t.Unix() < 0 || t.Unix() >= maxSeconds {
		return 0
	}
	return pcommon.NewTimestampFromTime(t)
}

// numericInstant reads a number. 1e11 seconds are 5000 years away, 1e14 milliseconds and 1e17 microseconds as well.
func numericInstant(text string) (pcommon.Timestamp, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		switch {
		case n < 0:
			return 0, true
		case n >= 1e17:
			return pcommon.Timestamp(n), true
		case n >= 1e14:
			return pcommon.Timestamp(n) * 1e3, true
		case n >= 1e11:
			return pcommon.Timestamp(n) * 1e6, true
		}
		return pcommon.Timestamp(min(n, maxSeconds)) * 1e9, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	for _, unit := range []struct{ from, micros float64 }{{1e17, 1e-3}, {1e14, 1}, {1e11, 1e3}, {0, 1e6}} {
		if f >= unit.from && f*unit.micros < math.MaxInt64/1000 {
			return pcommon.Timestamp(math.Round(f*unit.micros)) * 1e3, true // a float holds no more of today than microseconds
		}
	}
	return 0, true
}

// period reads a length of time: ISO 8601 (PT1M9.6S), Go's (1m9.6s) or hours, minutes and seconds (0:01:09.6).
func period(text string) (time.Duration, bool) {
	if rest, ok := strings.CutPrefix(text, "P"); ok {
		return isoPeriod(rest)
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, true
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	d, err := time.ParseDuration(parts[0] + "h" + parts[1] + "m" + parts[2] + "s")
	return d, err == nil && d >= 0
}

func isoPeriod(rest string) (time.Duration, bool) {
	days, clock, _ := strings.Cut(rest, "T")
	var total time.Duration
	if days != "" {
		n, err := strconv.ParseFloat(strings.TrimSuffix(days, "D"), 64)
		if err != nil || !strings.HasSuffix(days, "D") || n < 0 || n > 1e4 {
			return 0, false
		}
		total = time.Duration(n * 24 * float64(time.Hour))
	}
	if clock == "" {
		return total, days != ""
	}
	d, err := time.ParseDuration(strings.ToLower(clock))
	return total + d, err == nil && d >= 0
}

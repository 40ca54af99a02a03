package wire

import "go.opentelemetry.io/collector/pdata/plog"

// DefaultMaxMessage is the size in bytes that a stored request may have: 8 MiB less 4 KiB for its headers.
const DefaultMaxMessage = 8<<20 - 4<<10

// Filter makes any well-formed body fit for storing: faults mended, secrets scrubbed, over-large spans cut. It is
// immutable and safe for concurrent use.
type Filter struct {
	scrub *Scrubber
	max   int
}

// NewFilter compiles scrub. A request cut from a filtered body is at most maxMessage bytes long; 0 means
// [DefaultMaxMessage], and less than 64 KiB is raised to that. The error names the faulty pattern.
func NewFilter(scrub Scrub, maxMessage int) (*Filter, error) {
	compiled, err := scrub.Compile()
	if err != nil {
		return nil, err
	}
	if maxMessage == 0 {
		maxMessage = DefaultMaxMessage
	}
	return &Filter{scrub: compiled, max: max(maxMessage, 64<<10)}, nil
}

// MaxMessage is the largest request, in bytes, that [Filter.Cut] makes.
func (f *Filter) MaxMessage() int { return f.max }

// Apply checks and mends an export request. It returns body itself where nothing had to change, which is the usual case
// and costs one walk. An error means that the body is malformed as a whole; everything less is in the report.
func (f *Filter) Apply(s Signal, body []byte) ([]byte, Report, error) {
	return apply(s, body, f.scrub, f.max)
}

func apply(s Signal, body []byte, scrub *Scrubber, limit int) ([]byte, Report, error) {
	survey, err := walk(s, body, scrub)
	if err != nil {
		return nil, Report{}, err
	}
	report := Report{Spans: survey.Spans}
	if survey.Dirty {
		if body, report, err = clean(s, body, scrub); err != nil {
			return nil, Report{}, err
		}
		if survey, err = Walk(s, body); err != nil {
			return nil, Report{}, err
		}
	}
	if limit > 0 && survey.Largest > limit {
		if body, err = shrink(s, body, limit, &report); err != nil {
			return nil, Report{}, err
		}
	}
	return body, report, nil
}

// Untraced returns the log records of a body that carry no trace id, mended and scrubbed as [Filter.Apply] does it, which leaves them out. The
// body is one that Apply accepts, not one that it returned.
func (f *Filter) Untraced(body []byte) (plog.Logs, error) { return loose(body, f.scrub) }

// Cut is [Cut] with the filter's message size. The body is one that Apply returned.
func (f *Filter) Cut(s Signal, body []byte, partitions int) ([]Batch, error) {
	return Cut(s, body, partitions, f.max)
}

package mcp

import "context"

// ListIntents are the arguments of list_intents.
type ListIntents struct {
	State  string `json:"state,omitempty" jsonschema:"those in this state alone, as the listed ones have it"`
	Limit  int    `json:"limit,omitempty" jsonschema:"1 to 50; 20 if not given"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the page before"`
}

// Intents is a page of pull requests.
type Intents struct {
	Intents []Intent `json:"intents"`
	Page
}

// Intent is a pull request that was opened or is to be.
type Intent struct {
	Key     string    `json:"key"`
	Repo    string    `json:"repo"`
	Base    string    `json:"base"`
	Label   string    `json:"label"`
	Service string    `json:"service"`
	State   string    `json:"state" jsonschema:"withdrawn, collecting, full, stuck, preview, waiting, sending, open, closed, merged, absorbed or parked"`
	URL     string    `json:"url" jsonschema:"empty when it is not open"`
	Reason  Outside   `json:"reason" jsonschema:"why it is where it is"`
	Cases   []CaseRef `json:"cases"`
	More    int       `json:"more_cases" jsonschema:"that are not shown"`
}

// CaseRef is a case in a pull request.
type CaseRef struct {
	Case  string  `json:"case"`
	Title Outside `json:"title"`
	Weak  bool    `json:"weak" jsonschema:"it says what must not happen and no more"`
}

// batch is a batch as the service tells it.
type batch struct {
	Key     string `json:"key"`
	Repo    string `json:"repo"`
	Base    string `json:"base"`
	Label   string `json:"label"`
	Service string `json:"service"`
	State   string `json:"state"`
	URL     string `json:"url"`
	Note    string `json:"note"`
	Members []struct {
		CaseID string `json:"case_id"`
		Title  string `json:"title"`
		Weak   bool   `json:"weak"`
	} `json:"members"`
}

func (r reader) listIntents(ctx context.Context, in ListIntents) (out Intents, err error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return out, err
	}
	from, err := placeOf(in.Cursor)
	if err != nil {
		return out, err
	}
	var all []batch // the service gives them all
	if _, err := r.api.get(ctx, "/v1/batches", nil, &all); err != nil {
		return out, err
	}
	all = all[min(from.skip, len(all)):]
	at := []int{} // of those in the state
	for i, b := range all {
		if in.State == "" || b.State == in.State {
			at = append(at, i)
		}
	}
	var done int
	out.Intents, done = fill(len(at), limit, pageRoom, func(i int) Intent { return all[at[i]].intent() })
	passed := len(all)
	if done < len(at) {
		passed = at[done]
	}
	out.Page = goesOn(from, passed, len(all), "")
	return out, nil
}

const maxCases = 10

func (b batch) intent() Intent {
	out := Intent{name(b.Key), name(b.Repo), name(b.Base), name(b.Label), name(b.Service), name(b.State), cutRunes(clean(b.URL), 300), outside(b.Note, 600), []CaseRef{}, max(0, len(b.Members)-maxCases)}
	for _, m := range b.Members[:min(len(b.Members), maxCases)] {
		out.Cases = append(out.Cases, CaseRef{name(m.CaseID), outside(m.Title, 200), m.Weak})
	}
	return out
}

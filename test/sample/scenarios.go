package sample

import (
	"fmt"
	"math/rand/v2"
)

// Scenario makes runs of one kind.
type Scenario struct {
	Name  string
	Label string // what pawl should say of it; "" for a healthy run
	Make  func(*rand.Rand) Run
}

// Scenarios are all kinds of run, healthy ones first.
var Scenarios = []Scenario{
	{"healthy", "", healthy},
	{"polling", "", polling},
	{"schema", "tool_args_schema_violation", schema},
	{"loop", "loop", loop},
	{"unknown-tool", "hallucinated_tool", unknownTool},
	{"lost-result", "missing_tool_result", lostResult},
	{"overflow", "context_overflow", overflow},
	{"spike", "cost_spike", spike},
}

// Named returns the scenario of that name; it panics on a name that does not exist, for names are constants of the caller.
func Named(name string) Scenario {
	for _, s := range Scenarios {
		if s.Name == name {
			return s
		}
	}
	panic("no scenario " + name)
}

func parcel(r *rand.Rand) string  { return fmt.Sprintf("PX-%08d", r.IntN(1e8)) }
func order(r *rand.Rand) string   { return fmt.Sprintf("A-%06d", r.IntN(1e6)) }
func session(r *rand.Rand) string { return fmt.Sprintf("chat-%08x", r.Uint32()) }

func customer(r *rand.Rand) string {
	names := []string{"ines.falk", "tomas.berg", "lea.moor", "jonas.hald", "mira.stein"}
	return names[r.IntN(len(names))] + "@customers.example"
}

func find(p string) Call {
	return Call{Tool: "find_parcel", Arguments: js(map[string]any{"tracking_number": p}),
		Result: js(map[string]any{"tracking_number": p, "status": "in_transit", "eta_days": 2})}
}

func healthy(r *rand.Rand) Run {
	p := parcel(r)
	return Run{Name: "healthy", Session: session(r), User: "Where is my parcel " + p + "?", Turns: []Turn{
		{Calls: []Call{find(p)}, Input: 410 + r.Int64N(30), Output: 22},
		{Text: "Your parcel " + p + " is on its way and should arrive in two days.", Input: 470 + r.Int64N(30), Output: 24 + r.Int64N(6)},
	}}
}

// polling repeats a call whose result changes: progress, not a loop.
func polling(r *rand.Rand) Run {
	p := parcel(r)
	run := Run{Name: "polling", Session: session(r), User: "Tell me when " + p + " is out for delivery."}
	for i, status := range []string{"packed", "handed_over", "sorted", "in_van", "out_for_delivery"} {
		c := find(p)
		c.Result = js(map[string]any{"tracking_number": p, "status": status, "scans": i + 1})
		run.Turns = append(run.Turns, Turn{Calls: []Call{c}, Input: 230 + int64(i)*15, Output: 20})
	}
	run.Turns = append(run.Turns, Turn{Text: "It is out for delivery now.", Input: 310, Output: 12})
	return run
}

func schema(r *rand.Rand) Run {
	o, to := order(r), customer(r)
	return Run{Name: "schema", Session: session(r), User: fmt.Sprintf("Refund order %s, 25 euros, and write to %s.", o, to), Turns: []Turn{
		{Calls: []Call{{Tool: "refund", Arguments: js(map[string]any{"order_id": o, "amount": "twenty-five", "currency": "EUR"}),
			Result: "Invalid input for tool refund: amount: expected number, received string", Failed: true}}, Input: 430, Output: 31},
		{Text: "I have noted the refund of 25 EUR for " + o + ".", Input: 505, Output: 21},
	}}
}

func loop(r *rand.Rand) Run {
	p, to := parcel(r), customer(r)
	run := Run{Name: "loop", Session: session(r), User: fmt.Sprintf("Find my parcel %s. You reach me at %s.", p, to)}
	for i := range 6 {
		c := find(p)
		c.Result = js(map[string]any{"tracking_number": p, "status": "unknown"})
		run.Turns = append(run.Turns, Turn{Calls: []Call{c}, Input: 200 + int64(i)*10, Output: 22})
	}
	run.Turns = append(run.Turns, Turn{Text: "I cannot find it at the moment.", Input: 270, Output: 14})
	return run
}

func unknownTool(r *rand.Rand) Run {
	p := parcel(r)
	return Run{Name: "unknown-tool", Session: session(r), User: "Please track " + p + ".", Turns: []Turn{
		{Calls: []Call{{Tool: "track_parcel", Arguments: js(map[string]any{"tracking_number": p}),
			Result: "Tool track_parcel not found", Failed: true}}, Input: 405, Output: 19},
		{Text: "I could not track it.", Input: 460, Output: 10},
	}}
}

func lostResult(r *rand.Rand) Run {
	o := order(r)
	return Run{Name: "lost-result", Session: session(r), User: "What is in order " + o + "?", Turns: []Turn{
		{Calls: []Call{{Tool: "get_order", Arguments: js(map[string]any{"order_id": o}), Lost: true}}, Input: 408, Output: 18},
		{Text: "Your order holds two lamps.", Input: 430, Output: 11},
	}}
}

func overflow(r *rand.Rand) Run {
	p := parcel(r)
	return Run{Name: "overflow", Session: session(r), User: "Summarise every scan of " + p + ".", Turns: []Turn{
		{Calls: []Call{find(p)}, Input: 411, Output: 22},
		{Error: "400 This model's maximum context length is 1047576 tokens. However, your messages resulted in 1060212 tokens. Please reduce the length of the messages."},
	}}
}

func spike(r *rand.Rand) Run {
	p := parcel(r)
	return Run{Name: "spike", Session: session(r), User: "Where is my parcel " + p + "?", Turns: []Turn{
		{Calls: []Call{find(p)}, Input: 412, Output: 22},
		{Text: "Your parcel " + p + " is on its way.", Input: 61_400 + r.Int64N(500), Output: 5_900},
	}}
}

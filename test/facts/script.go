package main

// step is one answer of the scripted model: a request for a tool, a text, or a failure of the provider.
type step struct {
	tool, args string
	text       string
	fails      bool
}

// turn is what the user said and what the model then did, step by step.
type turn struct {
	user  string
	steps []step
}

func ask(tool, args string) step { return step{tool: tool, args: args} }
func say(text string) step       { return step{text: text} }

const (
	whereAndMail = "Hi, I am maya.lind@example.com. Where is my order ORD-10231? Please e-mail me the status too."
	findMine     = `{"query":"maya.lind@example.com","limit":5}`
	orderOne     = `{"order_id":"ORD-10231"}`
	mailShipped  = `{"to":"maya.lind@example.com","subject":"Order ORD-10231","body":"Your order ORD-10231 has shipped and arrives on Friday."}`
	shipped      = "Your order ORD-10231 has shipped and should arrive on Friday. I have e-mailed the status to maya.lind@example.com."
	kettle       = `{"query":"blue kettle","limit":10}`
	orderPolled  = `{"order_id":"ORD-30552"}`
	setPrice     = "Set the price of PRD-204 to 19.90 EUR."
	productOne   = `{"product_id":"PRD-204"}`
	priceEUR     = `{"product_id":"PRD-204","price":19.9,"currency":"EUR"}`
	priceSet     = "The price of PRD-204 is now 19.90 EUR."
)

// scripts holds, per scenario of the captures, what the user says and the scripted model answers, in order. A run may end before the last
// step; what it reached is in its truth file.
var scripts = map[string][]turn{
	"S01":  {{whereAndMail, []step{ask("search_orders", findMine), ask("get_order", orderOne), ask("send_email", mailShipped), say(shipped)}}},
	"S01s": {{whereAndMail, []step{ask("search_orders", findMine), ask("get_order", orderOne), ask("send_email", mailShipped), say(shipped)}}},
	"S02a": {{"Find my kettle orders.", []step{ask("search_orders", `{"query":"kettle","limit":"fifty"}`), say("I found no kettle orders for you.")}}},
	"S02c": {{"Set the price of PRD-204 to 19.90 dollars.", []step{ask("validate_product", productOne),
		ask("upsert_product", `{"product_id":"PRD-204","price":19.9,"currency":"DOLLARS"}`), say("The price of PRD-204 could not be set.")}}},
	"S02d": {{"Status of ORD-10231 please.", []step{ask("get_order", `{"order_id": "ORD-10`), say("I could not look that order up.")}}},
	"S03": {{"Find my order of the blue kettle.", []step{ask("search_orders", kettle), ask("search_orders", kettle), ask("search_orders", kettle),
		ask("search_orders", kettle), ask("search_orders", kettle), ask("search_orders", kettle), say("Sorry, I could not find the order of the blue kettle.")}}},
	"S05": {{"Wait until ORD-30552 is packed, then tell me.", []step{ask("get_order", orderPolled), ask("get_order", orderPolled), ask("get_order", orderPolled),
		ask("get_order", orderPolled), ask("get_order", orderPolled), say("ORD-30552 is packed and labelled now.")}}},
	"S06": {{"Refund ORD-10231.", []step{ask("refund_order", `{"order_id":"ORD-10231","amount":84.5}`), say("I am not able to issue refunds myself.")}}},
	"S07": {{"E-mail maya.lind@example.com that her parcel is ready.", []step{
		ask("send_email", `{"to":"maya.lind@example.com","subject":"Parcel ready","body":"Your parcel is ready for pick-up."}`),
		say("Done! I have sent the e-mail to maya.lind@example.com.")}}},
	"S08":  {{"What is in ORD-10231?", []step{ask("get_order", orderOne)}}},
	"S09":  {{"Summarise all my orders.", []step{ask("search_orders", `{"query":"maya.lind@example.com","limit":20}`), {fails: true}}}},
	"S09b": {{"Where is ORD-10231?", []step{{fails: true}}}},
	"S09c": {{"Where is ORD-10231?", []step{{fails: true}}}},
	"S09e": {{"Where is ORD-10231?", []step{ask("get_order", orderOne), {fails: true}}}},
	"S10":  {{"Where is ORD-10231?", []step{ask("get_order", orderOne)}}},
	"S11": {{"Show me ORD-66310 of another customer.", []step{ask("get_order", `{"order_id":"ORD-66310"}`),
		say("I am not permitted to see that order.")}}},
	"S12":  {{whereAndMail, []step{ask("search_orders", findMine), ask("get_order", orderOne), ask("send_email", mailShipped), say(shipped)}}},
	"S13":  {{setPrice, []step{ask("upsert_product", priceEUR), say(priceSet)}}},
	"S13n": {{setPrice, []step{ask("validate_product", productOne), ask("upsert_product", priceEUR), say(priceSet)}}},
	"S15": {
		{"Hi, I am maya.lind@example.com. Which orders do I have?", []step{ask("search_orders", `{"query":"maya.lind@example.com","limit":20}`),
			say("You have ORD-10231 and ORD-20417.")}},
		{"How is the first one doing?", []step{ask("get_order", orderOne), say("ORD-10231 has shipped.")}},
		{"Mail me that please.", []step{ask("send_email", `{"to":"maya.lind@example.com","subject":"ORD-10231","body":"ORD-10231 has shipped."}`),
			say("I have mailed it to maya.lind@example.com.")}},
	},
	"S17":  {{"Explain your return policy in detail.", []step{say("Our return policy has nine parts. First, you may return any item within thirty days of")}}},
	"S19n": {{"Thanks, that was all!", []step{say("You are welcome!")}}},
}

// billed is what the scripted provider answered as usage in S12, call by call. In the other scenarios it counts what came and went, which
// differs by emitter, so that only the raw bytes tell.
var billed = []usage{
	{in: 171000, out: 7900, cached: 0, reasoning: 6400}, {in: 177100, out: 8200, cached: 4096, reasoning: 6400},
	{in: 183200, out: 8500, cached: 4096, reasoning: 6400}, {in: 189300, out: 8800, cached: 4096, reasoning: 6400},
}

// offeredTools are the tools of the agent with the parameters of each.
var offeredTools = map[string][]string{
	"search_orders":       {"query", "limit"},
	"get_order":           {"order_id"},
	"validate_product":    {"product_id"},
	"upsert_product":      {"product_id", "price", "currency"},
	"send_email":          {"to", "subject", "body"},
	"transfer_to_billing": {},
}

package effect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/classify/catalog"
	"github.com/pawl-dev/pawl/classify/internal/texttraj"
	"github.com/pawl-dev/pawl/ingest/trajectory"
)

func TestToolsByName(t *testing.T) {
	for name, want := range map[string]string{
		"send_email": "write twice", "email.send_email": "write twice", "sendEmail": "write twice", "SLACK_SEND_MESSAGE": "write twice", "gmail-send": "write twice",
		"mcp__github__create_issue": "write twice", "createHTTPMonitor": "write twice", "issue_refund": "write twice", "place_order": "write twice", "stripe/create_charge": "write twice",
		"delete_event": "write once", "update_reservation_flights": "write perhaps", "cancel_order": "write perhaps", "set_status": "write once", "upsert_product": "write once", "write_file": "write once",
		"get_or_create_customer": "write twice", "erstelle_rechnung": "write twice", "enviar_correo": "write twice", "supprimer_fichier": "write once",
		"get_order": "read", "list_updates": "read", "search_orders": "read", "order_status": "read", "email_list": "read", "order_search": "read", "get_refund": "read",
		"check_delete_permission": "read", "post_history": "read", "buscar_pedidos": "read", "hole_bestellung": "read", "validate_product": "read", "refund_status": "read",
		"bash": "unknown", "execute_sql": "unknown", "process": "unknown", "orders": "unknown", "email": "unknown", "draft_email": "unknown", "process_order": "unknown", "": "unknown", "browser_click": "unknown",
		"simulate_send_email": "unknown", "python": "unknown", "run_workflow": "unknown", "valve_7": "unknown",
	} {
		tool := ToolOf(&trajectory.Trajectory{}, nil, &trajectory.ToolCall{Name: name, Model: -1})
		got := string(tool.Effect)
		if tool.Writes() {
			got += map[Twice]string{Doubles: " twice", Doubtful: " perhaps", Harmless: " once"}[tool.Twice]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestToolsByWord(t *testing.T) {
	c, err := catalog.New([]catalog.Tool{{Name: "valve", Effect: catalog.EffectWrite}, {Name: "send_probe", Effect: catalog.EffectRead}, {Name: "pay", Effect: catalog.EffectWrite, Idempotent: true}})
	if err != nil {
		t.Fatal(err)
	}
	offered := []trajectory.ToolDef{{Name: "knob", ReadOnly: trajectory.HintNo, Idempotent: trajectory.HintNo}, {Name: "lamp", ReadOnly: trajectory.HintNo},
		{Name: "gauge", ReadOnly: trajectory.HintYes}, {Name: "send_sms", ReadOnly: trajectory.HintYes}, {Name: "create_a", Idempotent: trajectory.HintYes}}
	for name, want := range map[string]string{"valve": "write true the catalog", "send_probe": "read false the catalog", "pay": "write false the catalog", "knob": "write true its annotations",
		"lamp": "write false its annotations", "gauge": "read false its annotations", "send_sms": "unknown false ", "create_a": "write false its name"} {
		tool := ToolOf(&trajectory.Trajectory{ToolsOffered: offered}, c, &trajectory.ToolCall{Name: name, Model: -1})
		if got := fmt.Sprintf("%s %t %s", tool.Effect, tool.Twice == Doubles, tool.By); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for line, want := range map[string]Fate{
		"  ok {\"id\":1}": Done, "  ok {\"error\":\"no\"}": WentWrong, "  ok {\"error\":null,\"id\":4}": Done, "  ok {\"success\":false}": WentWrong, "  ok {\"isError\":true}": WentWrong,
		"  ok {\"status\":\"failed\"}": WentWrong, "  ok {\"result\":{\"ok\":false}}": WentWrong, "  ok {\"errors\":[]}": Done, "  ok {\"success\":true,\"errors\":[{\"to\":\"x\"}]}": Done, "  ok {\"status\":\"rejected\",\"why\":\"invalid\"}": Declined,
		"  ok Email not found.": Declined, "  ok [{\"type\":\"text\",\"text\":\"Error: disk is full\"}]": WentWrong, "  ok Created with 3 warnings": Done, "  ok Sent successfully": Done,
		"  timeout": Lost, "  denied {}": Declined, "  missing": NotRun, "  unknown": Unseen,
		"  fails read ECONNRESET": Lost, "  fails socket hang up": Lost, "  fails connect ECONNREFUSED 10.0.0.1:80": Declined, "  fails getaddrinfo ENOTFOUND api": Declined,
		"  fails HTTP 504 Gateway Timeout": Lost, "  fails HTTP 503 Service Unavailable": Broke, "  fails Request failed with status code 500": Broke, "  fails Request failed with status code 422": Declined,
		"  fails HTTP 408": Lost, "  fails status: 409 conflict": Declined, "  fails 429 Too Many Requests": Declined, "  fails SMTP 554 5.7.1 message turned away": WentWrong,
		"  fails KeyError: 'id'": WentWrong, "  fails validation failed: timeout must be a number": Declined, "  fails MCP error -32001: Request timed out": Lost, "  fails permission denied": Declined,
	} {
		tr, err := texttraj.Parse("model m1\ncall c1 send_x {\"a\":1}\n" + line + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := OutcomeOf(&tr.ToolCalls[0], true).Fate; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		reply, tool string
		want        Claim
	}{
		{"Done! I have sent the e-mail.", "send_email", Named}, {"Email sent successfully.", "send_email", Named}, {"The e-mail to Maya was sent.", "send_email", Named},
		{"I've now cancelled your order.", "cancel_order", Named}, {"Ihre Bestellung wurde storniert.", "cancel_order", Named}, {"Votre commande a été annulée.", "cancel_order", Named},
		{"Su pedido ha sido cancelado.", "cancel_order", Named}, {"メールを送信しました。", "send_email", Named}, {"邮件已发送。", "send_email", Named}, {"The price of P-1 is now 19.90 EUR.", "update_price", Named},
		{"Your refund has been issued. If you have further questions, do not hesitate to ask.", "issue_refund", Named},
		{"All done!", "send_email", Plain}, {"Erledigt.", "send_email", Plain}, {"The request was completed.", "send_email", Plain},
		{"I could not send the e-mail.", "send_email", NoClaim}, {"I will send the e-mail.", "send_email", NoClaim}, {"Shall I have it sent?", "send_email", NoClaim}, {"Once it has been sent, I tell you.", "send_email", NoClaim},
		{"The e-mail was sent, but the server complained.", "send_email", NoClaim}, {"It may have been sent.", "send_email", NoClaim}, {"You have sent three e-mails.", "send_email", NoClaim},
		{"Here is a draft: \"I have sent the parcel.\"", "send_email", NoClaim}, {"Leider konnte die Mail nicht gesendet werden.", "send_email", NoClaim}, {"El correo no se ha enviado.", "send_email", NoClaim},
		{"Le courriel n'a pas été envoyé.", "send_email", NoClaim}, {"送信できませんでした。", "send_email", NoClaim}, {"Breakfast is at eight.", "send_email", NoClaim}, {"", "send_email", NoClaim},
		{"The emails sent by Nadia are in the archive.", "send_email", NoClaim}, {"It had already been cancelled.", "cancel_order", NoClaim},
		{"Here are the updated details of the booking.", "update_booking", NoClaim}, {"Your booking was changed. Please confirm if you would like to proceed.", "update_booking", NoClaim}, {"Your reply was sent.", "reply_email", Named},
	} {
		got, _ := Claims(c.reply, byName(c.tool).Verb)
		if got != c.want {
			t.Errorf("%q of %s: %q, want %q", c.reply, c.tool, got, c.want)
		}
	}
	if got, _ := Claims("The e-mail was sent.", byName("reply_email").Verb, byName("send_email").Verb); got != NoClaim {
		t.Errorf("what did happen was claimed for what did not: %s", got)
	}
}

// However attempts and readings are mixed: a resend is blind only when its first attempt was lost or broke and nothing that may tell was
// read between, a confirmed effect stays so, and every writing call is an attempt at one effect.
func TestMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	ends := []string{"ok {\"id\":1}", "timeout", "fails HTTP 500", "error {\"error\":\"invalid\"}", "fails boom", "missing"}
	for range 300 {
		var b strings.Builder
		var kinds []string
		for i := range 1 + r.IntN(7) {
			fmt.Fprintf(&b, "model m%d\n", i)
			if r.IntN(3) == 0 {
				kinds = append(kinds, "read")
				fmt.Fprintf(&b, "call c%d list_charges {\"order\":\"ORD-1\"}\n  ok []\n", i)
				continue
			}
			end := ends[r.IntN(len(ends))]
			kinds = append(kinds, end)
			fmt.Fprintf(&b, "call c%d charge_card {\"order\":\"ORD-1\"}\n  %s\n", i, end)
		}
		tr, err := texttraj.Parse(b.String())
		if err != nil {
			t.Fatal(err)
		}
		h := Follow(tr, nil)
		attempts, blind := 0, 0
		for _, e := range h.Effects {
			attempts += len(e.Attempts)
			for _, s := range e.Resent {
				if s.Blind {
					blind++
				}
			}
		}
		wantAttempts, wantBlind, open, confirmed := 0, 0, false, false
		for _, k := range kinds {
			if k == "read" {
				open = false
				continue
			}
			wantAttempts++
			if open && !confirmed {
				wantBlind++
			}
			open, confirmed = k == "timeout" || k == "fails HTTP 500", confirmed || k == ends[0]
		}
		if attempts != wantAttempts || blind != wantBlind || len(h.Effects) > 1 || confirmed && h.Effects[0].State != Confirmed {
			t.Fatalf("%d attempts of %d, %d blind of %d, %+v\n%s", attempts, wantAttempts, blind, wantBlind, h.Effects, b.String())
		}
	}
}

func FuzzClaims(f *testing.F) {
	f.Add("Done! I have sent the e-mail.", "send_email")
	f.Add("Gelöscht.", "deleteÜ")
	f.Fuzz(func(t *testing.T, reply, name string) {
		v := byName(name).Verb
		got, word := Claims(reply, v)
		if got != NoClaim && Admits(reply) || got == NoClaim && word != "" || got == Named && v == nil {
			t.Errorf("%q of %q: %q by %q", reply, name, got, word)
		}
	})
}

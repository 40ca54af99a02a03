package rule

import (
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/ingest/trajectory"
)

// unknownThing are the words by which tools say that they do not know what they were asked about, in the languages in which tools speak.
var unknownThing = lookFor(`(?i)not[ _-]?found|\bno such\b|(does|do|did)(n'?t| not) exist|(is|are) not (a )?(registered|known|recogni[sz]ed)|` +
	`\bunknown (id|identifier|user|account|customer|order|product|item|record|recipient|resource|reference|key|email)|` +
	`(could|can|was|were)( ?not|n't) (be )?(find|found|locate|located|resolve|resolved)|unable to (find|locate|resolve)|` +
	`\b(user|recipient|address|mailbox|account|domain)( is)? unknown\b|\b(address|recipient)( was| is)? (rejected|refused)|\bmailbox (is )?unavailable\b|` +
	`\bno [a-z_ -]{1,40}\b(exists|with (the |that |this )?(id|identifier|number|code|name|email|key))\b|non-?existent|resource_missing|` +
	`\b404\b|nosuch[a-z]+|` +
	`nicht gefunden|existiert nicht|unbekannte|introuvable|n'existe pas|inconnue?\b|no encontrad[oa]|no existe|não encontrad[oa]|não existe|non trovat[oa]|` +
	`niet gevonden|hittades inte|ikke fundet|ikke funnet|nie znaleziono|не найден|bulunamadı|見つかりません|存在しません|未找到|找不到|不存在|찾을 수 없|존재하지 않`)

// invalidThing are the words by which tools say that an identifier or an address is none.
var invalidThing = lookFor(`(?i)\b(invalid|malformed|unrecogni[sz]ed|incorrect|wrong|bad)\b[a-z_ '"-]{0,40}\b(id|ids|identifier|uuid|e-?mail|address|recipient|phone|number|url|link|reference|account|user|key|code)\b|` +
	`\b(id|ids|identifier|uuid|e-?mail|address|recipient|phone|number|url|reference|account|user)\b[^.]{0,40}\b(is|was|are)? ?(not (a )?valid|invalid|malformed|not recogni[sz]ed)|` +
	`ungültige?|\binválid[oa]|invalide\b|non valid[oe]|无效|無効`)

// notItsFault are words about something else than what was asked for: the tool, the way to it, or the right to it.
var notItsFault = lookFor(`(?i)command not found|module ?not ?found|no module named|(^|[:"] ?)(method|endpoint|route) (was )?not found|\b(function|tool|command|attribute|column|table) ['"\x60]?[\w./-]*['"\x60]? ?(was |is )?(not found|does not exist)|` +
	`no such (tool|function|method|module|command|column|table)|unknown (tool|function|method)|dns|getaddrinfo|enotfound|name or service not known|timed? ?out`)

// emptyAnswer are the words of a search that found nothing: an answer, unless the tool calls it a failure.
var emptyAnswer = lookFor(`(?i)\bno (\w+ ){0,4}(found|match|matches|results?|hits?)\b|\b(results?|matches|hits) not found|0 results`)

// searching are the words in names of tools that look for what there may be none of.
var searching = wordSet(`search list query filter browse scan select lookup find_all suggest autocomplete match recent`)

func searches(c *trajectory.ToolCall) bool {
	return slices.ContainsFunc(keyWords(c.Name), func(w string) bool { return searching[w] })
}

// rejectionWindow is how much of a result is read, and shortAnswer how long one may be that is not marked as a failure.
const (
	rejectionWindow = 400
	shortAnswer     = 200
)

// rejection returns the words by which a tool says that it does not know what the call names; "" when it does not say so.
func rejection(c *trajectory.ToolCall) string {
	if c.Error != nil {
		if text := c.Error.Type + " " + c.Error.Message; rejects(text) {
			return head(text)
		}
	}
	if !c.HasResult || c.Result.Truncated {
		return ""
	}
	raw := strings.TrimSpace(c.Result.Raw)
	if !failed(c) && !looksFailed(c) && (len(raw) > shortAnswer || searches(c) || emptyAnswer.MatchString(raw)) {
		return ""
	}
	if rejects(raw) {
		return head(raw)
	}
	return ""
}

func rejects(text string) bool {
	text = head(text)
	low := strings.ToLower(text)
	return (unknownThing.matches(text, low) || invalidThing.matches(text, low)) && !notItsFault.matches(text, low)
}

func head(text string) string { return text[:min(len(text), rejectionWindow)] }

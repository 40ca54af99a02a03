package effect

import (
	"regexp"
	"slices"
	"strings"
)

// Claim is how a reply says that something was done.
type Claim string

// The claims. Named: by the effect's own verb. Plain: it is done, it was successful, whatever it was.
const (
	NoClaim Claim = ""
	Named   Claim = "named"
	Plain   Claim = "plain"
)

// admits are the words of a reply that tells of a failure, or is in doubt, or leaves something open, in any of the languages that are read. One
// of them anywhere, and the reply claims nothing: what it claims beside is for a person to weigh.
var admits = regexp.MustCompile(`(?:^|[^\pL])(` +
	`errors?|fail(?:s|ed|ing|ures?)?|unable|unsuccessful(?:ly)?|unfortunately|regret|cannot|can['’]?t|couldn['’]?t|not|no longer|[a-z]+n['’]t|` +
	`(?:an|the|any|some|technical|this) (?:problem|issue|glitch|difficult)[a-z]*|problems|issues|trouble|unclear|uncertain|unconfirmed|unsure|unknown|may|might|maybe|perhaps|possibly|probably|likely|seems?|seemed|appears?|appeared|should have|` +
	`time[d]?[ -]?out|reject(?:ed|ion)|denied|declined|refused|permissions?|invalid|missing|retry|retried|try(?:ing)? again|again later|however|but|although|though|except|unless|pending|` +
	`attempt(?:ed|s|ing)?|tried|unless|partially|only some|in case|instead|already|would you|would like|please confirm|proceed(?:ing)?|go ahead|do you want|shall i|simulated|would have|assum(?:e|ing)|apparently|no (?:matching|such|results?|records?|emails?|events?|orders?|items?|future|recent)|there (?:is|are|was|were) no|nothing|none|` +
	`nicht|keine?[nrms]?|leider|fehler|fehlgeschlagen|konnten?|problem|bereits|vielleicht|möglicherweise|versuch(?:t|e|en)?|abgelehnt|jedoch|` +
	`ne|n['’][a-zêé]+|pas|erreur|échou[ée]+|échec|malheureusement|impossible|désolée?|peut-être|déjà|` +
	`no (?:pude|pudo|se|ha|han|he|hemos|fue|puedo|podemos)|falló|fallado|lamentablemente|desafortunadamente|desgraciadamente|imposible|quizás?|ya (?:estaba|ha)|pero|` +
	`non|errore|purtroppo|impossibile|fallit[oaie]|forse|però|não|erro|infelizmente|falh(?:ou|a)|talvez|niet|geen|fout|helaas|mislukt|misschien` +
	`)(?:$|[^\pL])|失敗|失败|エラー|错误|錯誤|できません|ませんでした|無法|无法|申し訳|抱歉|問題|问题|실패|오류|못했|없습니다|не удалось|ошибка|к сожалению`)

// kind are turns of politeness that hold a word of doubt and mean none.
var kind = regexp.MustCompile(`(?i)(please )?(do not|don['’]t) hesitate[^.!?\n]*|if (you|there)[^.!?\n]*|let me know[^.!?\n]*|feel free[^.!?\n]*|no (problem|worries|further action[^.!?\n]*)|why not|not only|falls (du|sie)[^.!?\n]*|wenn (du|sie)[^.!?\n]*|n['’]hésitez pas[^.!?\n]*|si (vous|tu|necesitas|necesita|quieres|desea)[^.!?\n]*|no dude[^.!?\n]*`)

var (
	quoted    = regexp.MustCompile("(?s)```.*?```|`[^`\n]{0,200}`|\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»")
	sentences = regexp.MustCompile(`[^.!?\n。！？]+[.!?\n。！？]?`)
	// yet are words by which a sentence speaks of what may come, or of what another did.
	yet = regexp.MustCompile(`(?:^|[^\pL])(will|would|can|could|shall|should|must|going to|let me|let['’]s|please|need(?:s|ed)?|want(?:s|ed)?|wish|about to|i['’]ll|we['’]ll|to be|once|when|after|before|until|if|whether|` +
		`you(?:['’]ve| have| had)?|they(?:['’]ve| have| had)?|he|she|who|customer has|user has|werde[nt]?|wird|möchte[nt]?|kann|können|bitte|wenn|sobald|du|sie haben|pouvez|veux|voulez|vais|si|quand|puedo|puede|quiere[s]?|voy|cuando|posso|vuoi|quando|zal|kan|wil|als)(?:$|[^\pL])`)
	// aux are words before a participle by which the speaker says that it happened.
	aux       = regexp.MustCompile(`(?:^|[^\pL])(i|we|i['’]ve|we['’]ve|have|has|been|was|were|is|are|got|successfully|now|just|ich|wir|habe|haben|wurden?|worden|ist|sind|ai|avons|été|est|sont|he|hemos|ha|han|sido|fue|fueron|ho|abbiamo|stat[oaie]|è|sono|foi|foram|eu|heb|hebben|is|zijn|werd|werden|erfolgreich|con éxito|exitosamente|avec succès|correctamente|con successo|com sucesso|succesvol)[^\pL]+(?:[\pL\d'’@.,#:_/-]+[^\pL]+){0,9}$`)
	quality   = regexp.MustCompile(`(?:^|[^\pL])(the|an?|your|my|our|his|her|their|its|this|these|those|any|some|newly|of|der|die|das|den|dem|des|eine?[nrms]?|ihre?[nrms]?|les?|la|une?|el|los|las|una|il|lo|gli|het|de|een)[^\pL]+$`)
	afterward = regexp.MustCompile(`^[^\pL]*(?:$|successfully|erfolgreich|as requested|for you|wie gewünscht|correctamente|con éxito|exitosamente|avec succès|con successo|com sucesso|succesvol|to |from |on |in |and )`)
	finished  = regexp.MustCompile(`^[^\pL]*(?:(?:all |great,? |okay,? |ok,? |perfect,? )?(?:done|all set|completed?|finished|success(?:ful(?:ly)?)?)|erledigt|fertig|geschafft|hecho|listo|fait|c['’]est fait|fatto|feito|pronto|klaar|gedaan|完了|完成)(?:$|[^\pL])|` +
		`(?:^|[^\pL])(?:(?:was|were|been|is|are) (?:successful|completed|successfully [a-z]+|done|carried out|taken care of)|(?:has|have) been (?:successfully )?(?:processed|completed|handled|carried out)|taken care of|erfolgreich (?:abgeschlossen|ausgeführt)|se ha realizado|a été effectuée?)(?:$|[^\pL])`)
	// eastern are languages whose verbs no spaces part.
	eastern = regexp.MustCompile(`(送信|削除|作成|更新|予約|キャンセル|保存|登録|変更|転送|返信|注文|返金)(?:いた)?(?:し|され)(?:ました|ています)|(?:已经?|成功)(?:为您|将)?(发送|删除|创建|更新|预订|取消|保存|添加|修改|转发|回复|退款|支付)|(发送|删除|创建|更新|预订|取消|保存|添加|修改|转发|回复|退款|支付)成功`)
)

var easternVerb = map[string]string{"送信": "send", "削除": "delete", "作成": "create", "更新": "update", "予約": "book", "キャンセル": "cancel", "保存": "save", "登録": "create", "変更": "update", "転送": "forward",
	"返信": "reply", "注文": "pay", "返金": "refund", "发送": "send", "删除": "delete", "创建": "create", "预订": "book", "取消": "cancel", "添加": "create", "修改": "update", "转发": "forward", "回复": "reply", "退款": "refund", "支付": "pay"}

// Admits says that a reply tells of a failure or of a doubt, or leaves something open.
func Admits(reply string) bool { return Read(reply).Admits }

// Claims is Reply.Claims of a reply that is asked but once.
func Claims(reply string, v *Verb, others ...*Verb) (Claim, string) {
	return Read(reply).Claims(v, others...)
}

// Reply is a reply that was read, to be asked of what it claims.
type Reply struct {
	Admits bool // it tells of a failure or of a doubt, or leaves something open

	sentences []string // that state something; none of one that admits
	plain     string   // the last words by which one says that it is done, "" for none
}

// Read reads a reply.
func Read(reply string) Reply {
	text := bare(reply)
	if text == "" {
		return Reply{}
	}
	r := Reply{Admits: admits.MatchString(text)}
	if r.Admits {
		return r
	}
	for _, s := range sentences.FindAllString(text, 200) {
		s = strings.TrimSpace(s)
		if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
			continue
		}
		r.sentences = append(r.sentences, s)
		if m := finished.FindString(s); m != "" && !yet.MatchString(s) {
			r.plain = m
		}
	}
	return r
}

// Claims says how the reply claims that an effect of this verb was brought about, and with which word. A verb that is nil can only be claimed
// plainly. A word that also tells of one of the others, which did happen, claims nothing.
func (r Reply) Claims(v *Verb, others ...*Verb) (Claim, string) {
	for _, s := range r.sentences {
		if word := v.claimed(s); word != "" && !slices.ContainsFunc(others, func(o *Verb) bool { return o.tells(word) }) {
			return Named, word
		}
	}
	if r.plain != "" {
		return Plain, r.plain
	}
	return NoClaim, ""
}

// bare is the reply in lower case, without what it quotes and without turns of politeness.
func bare(reply string) string {
	s := reply[:min(len(reply), 6000)]
	if strings.ContainsAny(s, "`\"“„«") {
		s = quoted.ReplaceAllString(s, " ")
	}
	return strings.ToLower(kind.ReplaceAllString(s, " "))
}

// claimed returns the word by which the sentence tells that it was done: with an auxiliary before the participle, or with nothing but the
// thing ("e-mail sent"). It is "" when the sentence does not tell so.
func (v *Verb) claimed(s string) string {
	if v == nil || v.said == nil {
		return ""
	}
	if m := eastern.FindStringSubmatch(s); m != nil {
		if word := m[1] + m[2] + m[3]; easternVerb[word] == v.Name {
			return word
		}
		return ""
	}
	for _, at := range v.said.FindAllStringSubmatchIndex(s, 20) {
		if word := s[at[2]:at[3]]; happened(s[:at[2]], word, s[at[3]:]) {
			return word
		}
	}
	return ""
}

// haveDone is Spanish for I have, which English reads as another person, before a word of romance languages.
var (
	romance  = regexp.MustCompile(`(?:ad|id)[oa]s?$`)
	haveDone = regexp.MustCompile(`(?:^|\b)he[^\pL]+`)
)

// happened says that a participle, by what stands before and after it, tells of what was done: no promise, and no quality of a thing ("the updated
// details").
func happened(before, word, after string) bool {
	if romance.MatchString(word) {
		before = haveDone.ReplaceAllString(before, "ho ")
	}
	switch {
	case yet.MatchString(before):
		return false
	case word == "is now" || word == "are now":
		return true
	case !strings.Contains(word, " ") && quality.MatchString(before):
		return false
	}
	return aux.MatchString(before) || len(strings.Fields(before)) <= 3 && afterward.MatchString(after)
}

// tells says that the word tells that an effect of this verb happened.
func (v *Verb) tells(word string) bool {
	return v != nil && (easternVerb[word] == v.Name || v.said != nil && v.said.FindString(word) == word)
}

// Asked says that a user's words want done what a reply claims with that word.
func Asked(said, word string) bool {
	low := strings.ToLower(said)
	return slices.ContainsFunc(families, func(v *Verb) bool { return v.asked != nil && v.tells(word) && v.asked.MatchString(low) })
}

// Reported says that a text speaks of such an effect as done: a record that is "cancelled" tells so by itself.
func (v *Verb) Reported(text string) bool {
	return v.said != nil && v.said.MatchString(strings.ToLower(text))
}

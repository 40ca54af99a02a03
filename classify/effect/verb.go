package effect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/classify/catalog"
)

// Verb is a family of words for one kind of effect: how tools are named that do it, and how people say that it was done.
type Verb struct {
	Name   string
	Effect catalog.Effect
	Twice  Twice          // what doing it twice does
	words  []string       // in the names of tools
	nouns  []string       // of these, words that are a thing as often as a verb
	said   *regexp.Regexp // the word of a reply that says it was done, in lower case; nil for reading verbs
	asked  *regexp.Regexp // the word of a user who wants it done
}

// Twice is what it does to do a thing twice.
type Twice int

// Harmless: the same as once (set, delete). Doubtful: often the same, but nobody says so (an update may charge or notify each time). Doubles: it
// happens twice (send, pay, create).
const (
	Harmless Twice = iota
	Doubtful
	Doubles
)

// harmless are the words of doubtful families that name a state to be in.
var harmless = map[string]bool{"set": true, "put": true, "upsert": true, "replace": true, "rename": true, "move": true, "enable": true, "disable": true, "activate": true, "deactivate": true,
	"archive": true, "unarchive": true, "lock": true, "unlock": true, "mute": true, "unmute": true, "mark": true, "label": true, "tag": true, "star": true, "pin": true, "close": true, "resolve": true, "complete": true,
	"configure": true, "assign": true}

// verbs is the family of every word that tools are named with, nouns those that are a thing as often.
var verbs, nouns = index(families)

func index(list []*Verb) (map[string]*Verb, map[string]bool) {
	byWord, thing := map[string]*Verb{}, map[string]bool{}
	for _, v := range list {
		for _, w := range v.words {
			byWord[w] = v
		}
		for _, w := range v.nouns {
			byWord[w], thing[w] = v, true
		}
	}
	return byWord, thing
}

func family(name string, twice Twice, words, nouns, said string) *Verb {
	v := &Verb{Name: name, Effect: catalog.EffectWrite, Twice: twice, words: strings.Fields(words), nouns: strings.Fields(nouns), said: whole(said)}
	v.asked = whole(strings.Join(slices.Concat(v.words, v.nouns), "|"))
	return v
}

func readers(words, nouns string) *Verb {
	return &Verb{Name: "read", Effect: catalog.EffectRead, words: strings.Fields(words), nouns: strings.Fields(nouns)}
}

// whole makes a pattern of words that stand alone, in any alphabet.
func whole(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\pL])(` + words + `)(?:$|[^\pL])`)
}

// The families of writing verbs, with the words of English, German, French, Spanish, Italian, Portuguese and Dutch. Words that mean several
// things (run, execute, process, handle, call) are in none: what such a tool does is unknown.
var families = []*Verb{
	family("send", Doubles, "send deliver dispatch notify resend enviar envoyer senden sende verschicke inviare invia verzenden stuur", "email mail message text sms alert ping",
		`sent|resent|e-?mailed|mailed|messaged|texted|notified|delivered|dispatched|gesendet|geschickt|verschickt|versendet|benachrichtigt|envoyée?s?|enviad[oa]s?|notificad[oa]s?|inviat[oaie]|spedit[oaie]|verzonden|verstuurd`),
	family("forward", Doubles, "forward weiterleiten reenviar inoltrare doorsturen", "", `forwarded|sent|weitergeleitet|transférée?s?|reenviad[oa]s?|inoltrat[oaie]|encaminhad[oa]s?|doorgestuurd`),
	family("reply", Doubles, "respond antworten répondre responder rispondere", "reply answer", `replied|responded|reply|sent|geantwortet|beantwortet|répondu|respondid[oa]|rispost[oa]|beantwoord`),
	family("create", Doubles, "create add insert register open raise file crear crea créer creer anlegen erstellen erstelle hinzufügen agregar añadir ajouter creare aggiungere criar adicionar aanmaken toevoegen", "make issue",
		`created|issued|added|inserted|registered|opened|raised|filed|made|scheduled|booked|set up|logged|erstellt|angelegt|hinzugefügt|eröffnet|créée?s?|ajoutée?s?|cread[oa]s?|agregad[oa]s?|añadid[oa]s?|creat[oaie]|aggiunt[oaie]|criad[oa]s?|adicionad[oa]s?|aangemaakt|toegevoegd`),
	family("append", Doubles, "append increment decrement push enqueue toggle", "", `appended|added|incremented|decremented|pushed|queued|toggled|updated`),
	family("book", Doubles, "book reserve buchen reservieren reservar réserver prenotare boeken", "schedule reservation booking appointment",
		`booked|reserved|scheduled|confirmed|arranged|set up|gebucht|reserviert|vereinbart|réservée?s?|reservad[oa]s?|agendad[oa]s?|prenotat[oaie]|geboekt|gereserveerd`),
	family("pay", Doubles, "pay purchase buy withdraw deposit pagar payer bezahlen überweisen comprar acheter kaufen pagare betalen", "charge debit credit wire transfer payout payment order checkout bill invoice",
		`paid|charged|purchased|bought|transferred|withdrawn|deposited|debited|credited|wired|billed|ordered|placed|invoiced|issued|bezahlt|überwiesen|gekauft|bestellt|payée?s?|achetée?s?|virée?s?|pagad[oa]s?|comprad[oa]s?|transferid[oa]s?|pagat[oaie]|trasferit[oaie]|betaald|overgemaakt`),
	family("refund", Doubles, "reimburse erstatten rembourser reembolsar rimborsare terugbetalen", "refund",
		`refunded|reimbursed|issued|(?:refund|reimbursement) (?:has been |was |is )?(?:issued|processed|completed|initiated)|(?:issued|processed|initiated) (?:a|the|your) (?:full |partial )?refund|erstattet|zurückerstattet|remboursée?s?|reembolsad[oa]s?|rimborsat[oaie]|terugbetaald`),
	family("publish", Doubles, "publish submit trigger launch deploy release retry rerun veröffentlichen publier publicar pubblicare publiceren", "post tweet comment",
		`published|posted|submitted|triggered|launched|deployed|released|commented|tweeted|shared|started|veröffentlicht|gepostet|eingereicht|publiée?s?|soumise?s?|publicad[oa]s?|pubblicat[oaie]|gepubliceerd|ingediend`),
	family("cancel", Doubtful, "cancel void revoke abort terminate stornieren storniere kündigen cancelar annuler annullare annuleren", "",
		`cancel+ed|voided|revoked|aborted|terminated|removed|deleted|storniert|gekündigt|abgesagt|annulée?s?|cancelad[oa]s?|annullat[oaie]|geannuleerd`),
	family("delete", Harmless, "delete remove destroy purge erase unlink drop clear uninstall löschen lösche entfernen supprimer effacer eliminar borrar eliminare cancellare excluir remover verwijderen", "trash",
		`deleted|removed|destroyed|purged|erased|dropped|cleared|uninstalled|cancel+ed|gelöscht|entfernt|supprimée?s?|effacée?s?|eliminad[oa]s?|borrad[oa]s?|eliminat[oaie]|cancellat[oaie]|excluíd[oa]s?|removid[oa]s?|verwijderd`),
	family("save", Harmless, "write save store upload persist overwrite speichern speichere enregistrer guardar salvare salvar opslaan", "",
		`written|wrote|saved|stored|uploaded|persisted|created|updated|gespeichert|hochgeladen|enregistrée?s?|guardad[oa]s?|salvat[oaie]|salv[oa]s?|opgeslagen`),
	family("update", Doubtful, "update edit modify rename move assign replace adjust configure enable disable activate deactivate upsert archive unarchive reschedule approve reject reopen "+
		"lock unlock mute unmute attach detach aktualisieren aktualisiere ändern ändere actualizar modificar actualiser modifier aggiornare modificare atualizar alterar bijwerken wijzigen",
		"set put patch change mark label tag close merge complete resolve star pin",
		`updated|saved|edited|modified|changed|renamed|moved|assigned|replaced|adjusted|configured|enabled|disabled|activated|deactivated|archived|rescheduled|approved|rejected|reopened|closed|merged|completed|resolved|locked|unlocked|marked|`+
			`attached|applied|switched|set to|is now|are now|aktualisiert|geändert|umbenannt|verschoben|aktiviert|deaktiviert|modifiée?s?|changée?s?|mise?s? à jour|actualizad[oa]s?|modificad[oa]s?|cambiad[oa]s?|aggiornat[oaie]|modificat[oaie]|atualizad[oa]s?|alterad[oa]s?|bijgewerkt|gewijzigd`),
	family("invite", Harmless, "invite subscribe unsubscribe enroll enrol join leave follow unfollow ban kick block unblock grant share einladen inviter invitar invitare", "",
		`invited|subscribed|unsubscribed|enrolled|joined|left|followed|banned|blocked|unblocked|granted|shared|eingeladen|invitée?s?|invitad[oa]s?|invitat[oaie]|uitgenodigd`),
	family("start", Harmless, "start stop restart reboot shutdown pause resume suspend starten stoppen", "",
		`started|stopped|restarted|rebooted|paused|resumed|suspended|shut down|gestartet|gestoppt|neu gestartet|démarrée?s?|arrêtée?s?|iniciad[oa]s?|detenid[oa]s?`),
	readers("get list search find read fetch lookup retrieve query describe show view browse check validate verify inspect count calculate compute convert compare summarize "+
		"summarise analyze analyse preview estimate predict classify translate detect extract parse load select scan monitor watch explain recommend exists peek tail head grep glob ls cat stat "+
		"download navigate scroll geocode suggest rank evaluate review audit wait sleep ask think is has can "+
		"suche suchen hole holen lese lesen zeige anzeigen prüfe prüfen chercher obtenir lire lister afficher vérifier buscar obtener leer listar consultar mostrar verificar cercare leggere elencare ler obter zoeken ophalen lezen tonen",
		"status report history info"),
}

package rule

import (
	"regexp"
	"strconv"
	"strings"
)

// trouble is a kind of failure that comes from outside of the agent: from a tool's service, a model's provider, or the way between.
type trouble string

// The kinds of trouble. Their words stand in fingerprints where no number is known.
const (
	refused         trouble = "access_denied"
	unauthenticated trouble = "unauthenticated"
	throttled       trouble = "rate_limited"
	down            trouble = "unavailable"
	unreachable     trouble = "unreachable"
	timedOut        trouble = "timed_out"
	aborted         trouble = "aborted"
	badProtocol     trouble = "protocol"
)

// says is the kind in a sentence, to follow "answered that" or "is".
func (k trouble) says() string {
	switch k {
	case refused:
		return "access denied"
	case unauthenticated:
		return "credentials not accepted"
	case throttled:
		return "rate limit or quota exceeded"
	case down:
		return "service failed or overloaded"
	case unreachable:
		return "connection failed"
	case timedOut:
		return "timed out"
	case aborted:
		return "aborted"
	}
	return "protocol error"
}

// troubleNames are the codes by which services, SDKs and frameworks name a trouble, in lower case, letters and digits alone, without a last
// "error", "exception", "fault" or "failure": HTTP and gRPC names, AWS, GCP and Azure codes, errno, error classes of HTTP clients in
// Python, JavaScript, Java, .NET and Go, error types of model providers, codes of common SaaS APIs.
var troubleNames = func() map[string]trouble {
	out := map[string]trouble{}
	for kind, names := range map[trouble]string{
		refused: `accessdenied permissiondenied permission forbidden accessforbidden unauthorizedoperation unauthorizedaccess authorizationfailed authorization
			authorizationrequired linkedauthorizationfailed insufficientpermission insufficientpermissions insufficientscope insufficientscopes
			insufficientprivilege insufficientprivileges insufficientaccess insufficientaccessrights insufficientaccessorreadonly notauthorized notpermitted missingscope restrictedresource requestdisallowedbypolicy accessnotconfigured
			eacces eperm forbiddenbypolicy accesscontrol cannotaccess permissionmissing 42501`,
		unauthenticated: `unauthenticated unauthorized authentication authenticationfailed authenticationrequired authfailure auth authfailed invalidapikey apikeyinvalid
			apikeymissing invalidclienttokenid unrecognizedclient expiredtoken tokenexpired tokenrevoked invalidtoken invalidauth notauthed
			accountinactive invalidgrant invalidcredentials badcredentials signaturedoesnotmatch incompletesignature missingauthenticationtoken
			invalidsessionid unauthorizedclient invalidclient invalidaccesstoken expiredaccesstoken nocredentials partialcredentials
			credentialretrieval defaultcredentials notloggedin loginrequired apikeyexpired invalidauthenticationtoken`,
		throttled: `ratelimit ratelimited ratelimitexceeded ratelimitreached ratelimitcapacity throttling throttled requestthrottled modelthrottled
			toomanyrequests resourceexhausted quotaexceeded insufficientquota requestlimitexceeded slowdown provisionedthroughputexceeded
			userratelimitexceeded dailylimitexceeded concurrentrequestlimitexceeded billinghardlimitreached servicequotaexceeded
			bandwidthlimitexceeded usagelimitreached operationthrottled requestratetoolarge`,
		down: `internalserver internalservice internalfailure serviceunavailable unavailable badgateway gatewaytimeout overloaded
			engineoverloaded serveroverloaded modeloverloaded modelnotready modelstream dependencyfailed server backend
			 temporarilyunavailable serverbusy serviceoverloaded`,
		unreachable: `econnrefused econnreset econnaborted enotfound epipe eaiagain enetunreach ehostunreach enetdown connection apiconnection connect
			connectionrefused connectionreset connectionaborted connectionclosed connectionlost newconnection maxretry maxretries remoteprotocol
			remotedisconnected serverdisconnected clientconnector clientconnection clientoserror endpointconnection socket network networkconnection
			unknownhost nameresolution brokenpipe incompleteread chunkedencoding connectionpool underrsocket underrconnect ssl sslhandshake
			sslcertverification tlscertificate depthzeroselfsignedcert certhasexpired httpconnection connectionshutdown`,
		timedOut: `timeout timedout etimedout esockettimedout deadlineexceeded timeoutexpired`,
		aborted:  `abort aborted operationaborted`,
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = kind
		}
	}
	return out
}()

var (
	noLetters = regexp.MustCompile(`[^a-z0-9]+`)
	nameEnds  = []string{"exception", "error", "fault", "failure"}
)

// namedTrouble is the trouble that a code or a class of errors names: its last part counts, as in botocore.errorfactory.ThrottlingException or
// urn:acme#forbidden.
func namedTrouble(code string) (trouble, bool) {
	if len(code) > 120 || strings.ContainsAny(code, " \n") {
		return "", false
	}
	code = strings.TrimRight(code, ".:/#)")
	code = code[strings.LastIndexAny(code, ".:/#(")+1:]
	word := noLetters.ReplaceAllString(strings.ToLower(code), "")
	for _, end := range append([]string{""}, nameEnds...) {
		bare := strings.TrimSuffix(word, end)
		if k, ok := troubleNames[bare]; ok && (bare != word || end == "") {
			return k, true
		}
		if bare != "" && (strings.HasSuffix(bare, "timeout") || strings.HasSuffix(bare, "timedout")) {
			return timedOut, true
		}
	}
	return "", false
}

// ofHTTP is what an HTTP status says; "" when it says nothing of the outside: what was asked for is wrong, not there, or in conflict.
func ofHTTP(status int) trouble {
	switch {
	case status == 401 || status == 407:
		return unauthenticated
	case status == 403:
		return refused
	case status == 402 || status == 429:
		return throttled
	case status == 408:
		return timedOut
	case status >= 500 && status <= 530 || status == 598 || status == 599: // 550 to 556 are a mail server's no to an address
		return down
	}
	return ""
}

// statusWords is how messages give an HTTP status beside what clients begin with.
var statusWords = regexp.MustCompile(`(?:\bhttp(?:/\d(?:\.\d)?)?(?: error)?|\bstatus(?:[ _-]?code)?|\berror code|\bresponse code|\bcode)["']?\s*[:=(#-]{0,2}\s*["']?([45]\d\d)\b|` +
	`^(?:error:? )?\(?([45]\d\d)(?: [a-z]|[:-] |\)\s)|\b([45]\d\d) (?:client|server) error`)

// statusIn is the HTTP status that a message in lower case gives, 0 when it gives none.
func statusIn(low string) int {
	if !fourOrFive(low) {
		return 0
	}
	m := statusWords.FindStringSubmatch(low)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2] + m[3])
	return n
}

// fourOrFive says that three digits stand in a text of which the first is a four or a five: it spares most texts the pattern.
func fourOrFive(text string) bool {
	digit := func(i int) bool { return text[i] >= '0' && text[i] <= '9' }
	for i := range len(text) - 2 {
		if (text[i] == '4' || text[i] == '5') && digit(i+1) && digit(i+2) {
			return true
		}
	}
	return false
}

// rpcWords is how errors give a code of JSON-RPC, and of what is built upon it: MCP, A2A, the language server protocol.
var rpcWords = lookFor(`(?:mcp|rpc|a2a)[^\n]{0,30}?(-32\d{3})\b|\bcode["']?\s*[:=]?\s*\(?(-32\d{3})\b|^\(?(-32\d{3})\b`)

// rpcIn is the JSON-RPC code that a text in lower case gives, 0 when it gives none.
func rpcIn(low string) int {
	if !rpcWords.may(low) {
		return 0
	}
	m := rpcWords.re.FindStringSubmatch(low)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1] + m[2] + m[3])
	return n
}

// The codes of JSON-RPC that are no protocol's failure: arguments that the tool does not take, and a person who is asked to go somewhere.
const (
	rpcInvalidParams = -32602
	rpcAsksPerson    = -32042
)

// ofRPC says whether a code is one by which a JSON-RPC peer says that the exchange itself failed: -32700 to -32600 of JSON-RPC, and -32000 to
// -32099, which MCP, A2A and their SDKs number each in their own way (and some numbers anew with a revision): the number tells that the
// exchange failed, and the words, where there are any, why.
func ofRPC(code int) bool {
	return code != rpcInvalidParams && code != rpcAsksPerson && (code >= -32700 && code <= -32600 || code >= -32099 && code <= -32000)
}

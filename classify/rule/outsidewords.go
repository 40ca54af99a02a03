package rule

// words is a way in which a trouble is put, in lower case.
type words struct {
	is trouble
	finder
}

func worded(is trouble, pattern string) words { return words{is, lookFor(pattern)} }

// troubleWords are the phrases by which services, clients and frameworks tell a trouble, in the message of what failed already. Each is a
// whole phrase that nothing else is said by. Order matters: the more special first.
var troubleWords = []words{
	worded(unauthenticated, `\b(invalid|incorrect|missing|expired|wrong|bad|no) (x-)?(api|access|subscription|auth|authentication|authorization|security|bearer|session)[ _-]?(key|token|header)|`+
		`\bapi[ _-]key (is |was |provided is )?(not valid|invalid|missing|expired|required|not found|disabled)|\b(invalid|bad|expired|missing|wrong|no) (authentication |login |aws |default )?credentials\b|`+
		`\bauthentication (has )?(failed|required|is required)|\b(could not|failed to|unable to|cannot) authenticate|\b(not|un)[ -]?authenticated\b|\b401 unauthori[sz]ed|^(error: )?unauthori[sz]ed\W*$|`+
		`\btoken (has |is |was )?(already )?(been )?(expired|revoked|invalid|rejected)|security token .{0,40}(invalid|expired)|requires authentication|unable to locate credentials|`+
		`could not load (the )?(default )?credentials|you (must|need to) (log|sign) ?in\b|\blogin required`),
	worded(throttled, `\brate[ _-]?limit(s|ed|ing)?\b.{0,30}(reached|exceeded|hit|error|capacity)|\brate[ _-]limited\b|\bexceeded .{0,25}rate[ _-]?limit|too many requests|`+
		`\b(exceed(s|ed)?) (your |the |its )?(current |api |daily |monthly |request )*(quota|request limit)|\bquota (has been |was |is )?(exceeded|exhausted|reached)|out of (quota|credits)|`+
		`insufficient[_ ](quota|credits)|resource[_ ](has been )?exhausted|\b(request|call)s? (was|were|is|are|has been) throttled|\bthrottlingexception\b|credit balance is too low|usage limit (reached|exceeded)`),
	worded(down, `internal server error|service (is )?(temporarily |currently )?(unavailable|not available)|\b(is|are) (temporarily|currently) unavailable|bad gateway|gateway time-?out|\boverloaded_error\b|`+
		`\b(model|engine|server|service|system) (is |are )?(currently |temporarily |too )*(overloaded|busy)\b|^(error: )?overloaded\W*$|\bupstream (connect error|request time-?out|server error)|no healthy upstream|`+
		`the server had an error|\b5\d\d server error|server (encountered|returned) an? (unexpected |internal )?error`),
	worded(refused, `\b403 forbidden|^(error: |http error: )?forbidden\b|\b(access|permission)s? (is |was |has been )?(denied|forbidden)|\baccess to .{1,60} (is |was )?(denied|forbidden)\b|`+
		`\beacces\b|\beperm\b|\boperation not permitted|\bis forbidden: user\b|\b(permission_denied|access_?denied(exception)?)\b|\bnot authori[sz]ed\b|\bunauthori[sz]ed (to|for|access|operation)|`+
		`\b(insufficient|missing|lacks?|lacking) (the )?(required |necessary |sufficient |oauth |authentication |api )*(permissions?|privileges?|scopes?|access rights|access|roles?|authorization)\b|`+
		`\b(does|do)(n't| not) have (the |any )?(required |necessary |sufficient |proper |correct )*(permissions?|access|authorization|privileges?|rights?)\b|resource not accessible by|not subscribed to this api|`+
		`\b(blocked|denied|refused|rejected) by (a |an |the |your )?(\w+ )?(guardrail|hook|firewall|permission rule|permission settings|organi[sz]ation policy|access policy|security policy)|`+
		`outside (of )?(the )?allowed director|tripwire triggered`),
	worded(refused, `zugriff verweigert|keine berechtigung|nicht berechtigt|acceso denegado|permiso denegado|no tiene permiso|accès refusé|permission refusée|acesso negado|permissão negada|accesso negato|permesso negato|`+
		`toegang geweigerd|доступ запрещ|отказано в доступе|odmowa dostępu|アクセスが拒否|権限がありません|拒绝访问|没有权限|权限不足|無權限|접근이 거부|권한이 없`),
	worded(timedOut, `\btimed[ -]?out\b|\btime-?out (of \d|after|error|exceeded|expired|occurred|waiting|reached|was (reached|exceeded)|while)|`+
		`\b(request|read|write|connection|connect|operation|execution|call|query|socket|response|tool|server|statement|idle|task|command|network|step|job)[ -]time-?out\b|(due to|because of|by|:) (a )?time-?out\b|`+
		`\bdeadline[ _]exceeded|\bexceeded (the |its |a )?(maximum )?(execution )?(time ?limit|time-?out|deadline)|\betimedout\b|\besockettimedout\b|^(error: )?time-?out\b|\btime limit exceeded|`+
		`did not (respond|complete|finish|return|answer) (with)?in\b|zeitüberschreitung|délai dépassé|tiempo de espera agotado|tempo limite|タイムアウト|超时|시간 초과`),
	worded(unreachable, `\bconnection (was |is |has been |attempt )?(unexpectedly )?(refused|reset|aborted|closed|lost|dropped|failed|terminated|error|broken)|\beconn(refused|reset|aborted)\b|\benotfound\b|\beai_again\b|\behostunreach\b|`+
		`\benetunreach\b|\bepipe\b|socket hang up|other side closed|^(typeerror: |error: )?(fetch failed|failed to fetch)\W*$|\b(cannot|can't|could not|couldn't|unable to|failed to) (connect|establish (a )?(new )?connection|reach the (server|host))\b|`+
		`max retries exceeded with url|name or service not known|\bgetaddrinfo\b|temporary failure in name resolution|\bno such host\b|nodename nor servname|network is unreachable|no route to host|`+
		`remote end closed connection|server disconnected|peer closed connection|incomplete chunked read|\bunexpected eof\b|\bbroken pipe\b|certificate verify failed|tls handshake|\bssl: |network error\b`),
	worded(badProtocol, `^(error: )?method not found|unsupported protocol version|protocol version (mismatch|is not supported|not supported)|no valid session id|\bmcp[ -]session\b.{0,30}(not found|expired|terminated|invalid|missing|required)|`+
		`^session terminated|before initialization was complete|server not initialized|(invalid|malformed) json-?rpc|json-?rpc (parse )?error|^(error: )?not connected\W*$|mcp server .{0,60}(not connected|disconnected|failed to start|exited|crashed)`),
	worded(aborted, `\b(operation|request|run|task|call|stream|execution|query) (was |has been |is )?aborted|^(error: )?abort(ed|error)?\b`),
}

// wholeWords are results that say nothing but that it did not work, although nothing marks them as errors. They must be the whole text.
var wholeWords = []words{
	worded(timedOut, `^(error: ?)?((the )?(tool|request|operation|call|execution|function|command|task|query|action|search|page|connection)( (call|execution|request))? )?(has |was )?(timed out|time-?out)( after \d+(\.\d+)? ?\w+)?( \(?(try|please) .{0,40})?\W*$`),
	worded(throttled, `^(error: ?)?((http )?(error )?429\W+)?(too many requests|rate limit (exceeded|reached))([.,;:!]? (please )?(try again|retry|slow down)[^\n]{0,60})?\W*$`),
	worded(refused, `^(error: ?)?((http )?(error )?403\W+)?(forbidden|access denied|permission denied|you (do not|don't) have (permission|access)[^\n]{0,60})\W*$`),
	worded(unauthenticated, `^(error: ?)?((http )?(error )?401\W+)?(unauthori[sz]ed|authentication (required|failed)|not authenticated|invalid api key)\W*$`),
	worded(down, `^(error: ?)?((http )?(error )?5\d\d\W+)(internal server error|bad gateway|service unavailable|gateway time-?out)\W*$|^(error: ?)?(internal server error|bad gateway|service (temporarily )?unavailable)\W*$`),
	worded(unreachable, `^(error: ?)?(connection (refused|reset|error|failed|closed)( by peer)?|fetch failed|network error)\W*$`),
}

// personSays are the words by which frameworks tell that a person refused a call, or stopped the run: that is no failure.
var personSays = lookFor(`\b(user|human|person|operator|reviewer|customer|approver)( has| have)? (denied|rejected|declined|cancell?ed|refused|interrupted|aborted|stopped|disapproved|chose not)|` +
	`\b(denied|rejected|declined|cancell?ed|refused|aborted|interrupted|stopped|disapproved)( \w+)? by (the |a )?(user|human|person|operator|reviewer|client|caller|approver)|\buser (doesn't|does not|didn't|did not) (want|approve|allow|confirm)|` +
	`\bnot approved\b|\bapproval (was |is )?(denied|rejected|declined|refused|not (granted|given))|\buser[_ ](abort|reject|cancel)|client (closed request|disconnected)`)

// requestSays are the words by which a service lays an error to what it was sent.
var requestSays = lookFor(`\b(bad|invalid|malformed|illegal|unsupported|unknown|incorrect|missing) (request|inputs?|arguments?|parameters?|params?|fields?|values?|payload|identifier|id)\b|` +
	`\b(request|inputs?|arguments?|parameters?|payload) (is |are |was )?(invalid|malformed|incorrect|missing|not valid)\b|\bvalidation (error|failed)\b|(is|are) required\b`)

// modelSays marks messages that quote what a model wrote, since it could not be read: the words in them are the model's.
var modelSays = lookFor(`could not parse (the )?(llm|model|ai|output)|output[ _]?pars(ing|er)|failed to parse (the )?(llm|model|ai)\b|\bi (do not|don't|cannot|can't|am not) `)

// policySays are words by which a refused call tells that a policy of the team refused it.
var policySays = lookFor(`\b(policy|policies|guardrails?|hooks?|permission (rules?|settings|mode)|deny[ -]?list|allow[ -]?list|sandbox|not (allowed|permitted)|blocked|firewall|disallowed|forbidden|administrator|config(uration)?)\b`)

// nobodySays are the words by which a refused call tells that it wants an approval and that nobody was there to give it.
var nobodySays = lookFor(`\b(nobody|no ?one|no (user|person|human|approver|reviewer))( (is|was|were|could|can|available|there|present|able|to))+ .{0,20}approv|\b(could not|couldn't|cannot|can't|unable to) (request|ask for|prompt for|get) (the )?(user |your )?(permission|approval)|` +
	`\bno[ -]approval[ -]rule|non-?interactive (mode|session|run|environment).{0,60}(approv|permission|prompt)|(approv|permission|prompt)\w* .{0,60}non-?interactive`)

// hidden are the words by which frameworks keep an error to themselves.
var hiddenWords = lookFor(`\[?\bredacted\]?|details (are|were) (hidden|withheld|omitted)`)

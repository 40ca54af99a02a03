// Package config is the one typed form of pawl.yaml: strict YAML in, a checked [Config] out.
//
// Invariants: a Config that [Load] or [Parse] returned without error has passed every check of its fields and between
// its fields; a key that no field claims is an error, never ignored; all mistakes of a file are reported at once, each
// with its place; a secret is written as ${env:NAME} or ${file:PATH}, never in the file itself, and never printed.
// Without a file [Default] applies: everything on loopback, nothing leaves the machine.
//
// The struct tags are the single source of the keys (yaml), of the descriptions in the JSON Schema (doc), of the range
// of numbers (min, max), of what must be present (required) and of what null means (null; without it null is refused).
package config

import "regexp"

// Config is pawl.yaml as a whole. Each part of the program has its own Options, filled from here by the command.
type Config struct {
	Enabled   bool               `yaml:"enabled" doc:"false in a repository's own pawl.yaml, on its default branch: pawl writes nothing there; in the service's: pull requests are only previewed"`
	DataDir   string             `yaml:"data_dir" required:"true" doc:"directory of all state; only pawl serve opens it"`
	Listen    Listen             `yaml:"listen" doc:"addresses to listen on; port 0 takes any free one and prints it"`
	Auth      Auth               `yaml:"auth" doc:"who may use the web UI and the API; needed off loopback"`
	NATS      NATS               `yaml:"nats" doc:"where the streams live"`
	Queue     Queue              `yaml:"queue" doc:"size and partitions of the span stream, and further sources of OTLP"`
	Ingest    Ingest             `yaml:"ingest" doc:"what the receivers take and what they remove before anything is stored"`
	Assemble  Assemble           `yaml:"assemble" doc:"when a trace is complete and how long it is kept"`
	Webhooks  map[Source]Webhook `yaml:"webhooks" doc:"monitoring tools that may flag a trace, by source"`
	Flags     Flags              `yaml:"flags" doc:"what others say of traces, by webhooks and POST /v1/flags"`
	Homes     []Home             `yaml:"homes" doc:"where traces live beside here: flagged ones are fetched from there, and pawl classify --from reads them"`
	Judge     Judge              `yaml:"judge" doc:"the optional model that is asked when no rule explains a failure"`
	Notify    *Notify            `yaml:"notify" null:"nobody is told" doc:"a chat room that hears of failures that are new, grow or came back: one message an hour at most"`
	GHPR      GHPR               `yaml:"ghpr" doc:"pull requests"`
	Policy    []Policy           `yaml:"policy" doc:"what an agent must and must not do"`
	Tools     []Tool             `yaml:"tools" doc:"the tool catalog, beside what spans and MCP servers offer"`
	ToolsFile string             `yaml:"tools_file" null:"none" doc:"a catalog file, as pawl tools import writes it: pinned tools, which tools goes before"`
	Prices    []Price            `yaml:"prices" doc:"what models cost, before pawl's own dated list; first match wins"`
	Absorb    Absorb             `yaml:"absorb" doc:"which findings become cases"`
	Gate      Gate               `yaml:"gate" doc:"how pawl check runs an agent"`
	Targets   []Target           `yaml:"targets" doc:"the repository a service's cases go to; first match wins"`
	Watch     Watch              `yaml:"watch" doc:"files whose change runs the whole set"`
	Rules     Rules              `yaml:"rules" doc:"parameters of the rules"`
	Custom    []Custom           `yaml:"custom" doc:"rules of your own, in CEL"`
	RulesDir  string             `yaml:"rules_dir" null:"none" doc:"directory beside this file whose files NAME.yaml hold further rules of your own, under custom; their testdata are in folders there"`
	Severity  map[Label]Severity `yaml:"severity" doc:"severity by label, pawl's or that of a rule of your own, where it differs from the rule's"`
	Redact    Redact             `yaml:"redact" doc:"what is removed before anything leaves, beside the built-in rules"`
}

// Listen holds the addresses of the listeners, host:port each; the empty Addr is off.
type Listen struct {
	OTLPGRPC Addr `yaml:"otlp_grpc" null:"off" doc:"OTLP over gRPC"`
	OTLPHTTP Addr `yaml:"otlp_http" null:"off" doc:"OTLP over HTTP"`
	HTTP     Addr `yaml:"http" null:"off" doc:"web UI, JSON API, health and metrics"`
	Webhooks Addr `yaml:"webhooks" null:"webhooks are answered on listen.http" doc:"an address of their own for webhooks"`
}

// Auth lists who may use the web UI and the API.
type Auth struct {
	Tokens []Token    `yaml:"tokens" doc:"one per person or program"`
	Proxy  *AuthProxy `yaml:"proxy" null:"none" doc:"a reverse proxy that has settled who asks"`
}

// AuthProxy is a reverse proxy in front of listen.http that names the person in a header.
type AuthProxy struct {
	Header string          `yaml:"header" required:"true" doc:"the header that names the person, such as X-Forwarded-User; the proxy must drop it from what its callers send"`
	From   []CIDR          `yaml:"from" required:"true" doc:"where the proxy stands: from elsewhere the header, and X-Forwarded-For and -Proto, count nothing"`
	Roles  map[Person]Role `yaml:"roles" required:"true" doc:"what a person may do, by the name in the header; \"*\" for everybody else, who without it is refused"`
}

// Token is a person's or program's access. Name stands in the audit log.
type Token struct {
	Name  string `yaml:"name" required:"true" doc:"who this is; stands in the audit log"`
	Role  Role   `yaml:"role" required:"true" doc:"what this token may do"`
	Token Secret `yaml:"token" required:"true" doc:"the bearer token"`

	Services []Glob `yaml:"services" doc:"services that this token is limited to: what is of others is absent for it; none: all"`
}

// NATS says where the streams live; the zero value is the embedded server.
type NATS struct {
	URL         string    `yaml:"url" null:"the embedded server" doc:"nats:// or tls:// address of an existing JetStream"`
	Credentials string    `yaml:"credentials" null:"none" doc:"path of a .creds file"`
	TLS         ClientTLS `yaml:"tls" doc:"certificates for the connection"`
}

// ClientTLS holds paths of PEM files for a connection that pawl opens.
type ClientTLS struct {
	CA   string `yaml:"ca" null:"the system's" doc:"path of the authorities that may have signed the server's certificate"`
	Cert string `yaml:"cert" null:"none" doc:"path of the client certificate"`
	Key  string `yaml:"key" null:"none" doc:"path of the client key"`
}

// ServerTLS holds paths of PEM files for a listener.
type ServerTLS struct {
	Cert     string `yaml:"cert" null:"no TLS" doc:"path of the server certificate"`
	Key      string `yaml:"key" null:"no TLS" doc:"path of the server key"`
	ClientCA string `yaml:"client_ca" null:"clients need no certificate" doc:"path of the authorities whose clients are let in"`
}

// Queue sizes the span stream and names further sources of OTLP.
type Queue struct {
	MaxBytes   Bytes         `yaml:"max_bytes" min:"1MiB" doc:"size of the span stream over all partitions; a full one refuses"`
	Partitions int           `yaml:"partitions" min:"0" max:"1024" null:"1 embedded, 64 on a cluster" doc:"fixed when the streams are first made"`
	Sources    []QueueSource `yaml:"sources" doc:"your own subjects that carry plain OTLP"`
}

// QueueSource is a JetStream stream or core NATS subject that carries plain OTLP requests.
type QueueSource struct {
	Name        string    `yaml:"name" required:"true" doc:"names the durable consumer and the metrics"`
	URL         string    `yaml:"url" null:"that of nats" doc:"the NATS server to read from"`
	Credentials string    `yaml:"credentials" null:"none" doc:"path of a .creds file"`
	TLS         ClientTLS `yaml:"tls" doc:"certificates for the connection"`
	Stream      string    `yaml:"stream" null:"core NATS, which cannot be acknowledged" doc:"the JetStream stream"`
	Subject     string    `yaml:"subject" required:"true" doc:"the subject, wildcards allowed"`
	Signal      Signal    `yaml:"signal" doc:"what the messages hold"`
	Encoding    Encoding  `yaml:"encoding" doc:"how the messages are written; auto tells by each message"`
}

func (s *QueueSource) setDefaults() { s.Signal, s.Encoding = SignalTraces, EncodingAuto }

// Ingest says what the receivers take.
type Ingest struct {
	Drop      []KeyGlob `yaml:"drop" doc:"attributes of these keys are removed before anything is stored"`
	Mask      []Mask    `yaml:"mask" doc:"values of attributes of these keys, or what a /regular expression/ finds in any string, become [masked]"`
	Limits    Limits    `yaml:"limits" doc:"sizes of a request"`
	Tokens    []Secret  `yaml:"tokens" doc:"bearer tokens, one of which an exporter must send; none = not asked for"`
	TLS       ServerTLS `yaml:"tls" doc:"TLS of both receivers"`
	Anonymous bool      `yaml:"anonymous" doc:"let receivers listen off loopback without token or client certificate"`
}

// Limits bounds one OTLP request, in bytes.
type Limits struct {
	Body     Bytes `yaml:"body" min:"1KiB" doc:"largest request as sent"`
	Inflated Bytes `yaml:"inflated" min:"1KiB" doc:"largest request after decompression"`
}

// Assemble says when a trace is complete and how long it is kept.
type Assemble struct {
	RootGrace   Duration `yaml:"root_grace" doc:"quiet time after which a trace whose root has ended is complete"`
	IdleTimeout Duration `yaml:"idle_timeout" doc:"quiet time after which any trace is complete"`
	MaxAge      Duration `yaml:"max_age" doc:"age at which a trace is complete in any case"`
	MaxBytes    Bytes    `yaml:"max_bytes" min:"64KiB" doc:"size at which a trace is cut and marked truncated"`
	MaxSpans    int      `yaml:"max_spans" min:"1" doc:"number of spans at which a trace is cut and marked truncated"`
	Retention   Duration `yaml:"retention" doc:"how long assembled traces are kept"`
}

// Webhook is one monitoring tool that may flag traces.
type Webhook struct {
	Secret     Secret        `yaml:"secret" required:"true" doc:"signing secret or bearer token, as the tool sends it"`
	Previous   Secret        `yaml:"previous" null:"none" doc:"the secret before it, taken too while it is changed"`
	Proof      string        `yaml:"proof" null:"the tool's own way, else any of bearer, basic and header:X-Pawl-Token" doc:"how a tool that signs nothing shows the secret: bearer, basic (the secret is user:password), header:NAME, query:NAME or field:/POINTER"`
	TimeHeader string        `yaml:"time_header" null:"no time is signed" doc:"of Grafana: the header that its contact point puts the signed time into"`
	Fields     WebhookFields `yaml:"fields" doc:"of a tool whose payload is a template: where things stand in it, where yours differs from pawl's"`
}

// WebhookFields say where a payload holds what a flag is made of: a JSON pointer, or a text with {/pointer} and {@Header} in it.
type WebhookFields struct {
	Trace    string `yaml:"trace" null:"as the template has it" doc:"the trace's id"`
	Service  string `yaml:"service" null:"as the template has it" doc:"of a window: service.name, or tags with service:NAME among them"`
	Session  string `yaml:"session" null:"as the template has it" doc:"of a window: the session's id"`
	From     string `yaml:"from" null:"as the template has it" doc:"begin of the window"`
	To       string `yaml:"to" null:"as the template has it" doc:"end of the window"`
	At       string `yaml:"at" null:"as the template has it" doc:"when it happened; without from and to the five minutes before are the window"`
	Reason   string `yaml:"reason" null:"as the template has it" doc:"what the tool says, shown as a quotation"`
	Link     string `yaml:"link" null:"as the template has it" doc:"the tool's page"`
	Severity string `yaml:"severity" null:"as the template has it" doc:"in the tool's words"`
	Project  string `yaml:"project" null:"as the template has it" doc:"in the tool's words"`
	Dedup    string `yaml:"dedup" null:"as the template has it" doc:"what is the same each time that one delivery is sent"`
	Firing   string `yaml:"firing" null:"as the template has it" doc:"/pointer=word|word: only where one of the words stands there something is bad"`
	Test     string `yaml:"test" null:"as the template has it" doc:"/pointer=word|word: where one of the words stands there it is a test"`
}

// Flags says how long a flag waits.
type Flags struct {
	Wait       Duration `yaml:"wait" doc:"how long a flag waits for its trace before it is said not to be found"`
	FetchAfter Duration `yaml:"fetch_after" doc:"how long a flagged trace may take to come by itself before it is fetched from one of homes"`
}

// Home is a place where traces live: an observability tool with an API to read them.
type Home struct {
	Name     string   `yaml:"name" required:"true" doc:"how you call it; flags whose source has this name, or that of its kind, are on its traces"`
	Kind     HomeKind `yaml:"kind" required:"true" doc:"what it is"`
	URL      string   `yaml:"url" null:"the vendor's cloud, or of phoenix, jaeger and tempo this machine" doc:"address of its API, without the part that begins with /api or /v1"`
	Key      Secret   `yaml:"key" null:"none" doc:"langfuse: the public key; langsmith and phoenix: the API key; jaeger and tempo: the user, or without secret a bearer token"`
	Secret   Secret   `yaml:"secret" null:"none" doc:"langfuse: the secret key; jaeger and tempo: the password"`
	Project  string   `yaml:"project" null:"none" doc:"langsmith and phoenix: the project; tempo: the tenant"`
	Services []Glob   `yaml:"services" doc:"services whose traces live there; none = any"`
	Service  string   `yaml:"service" null:"none" doc:"service.name of its traces that come without one"`
	Links    []string `yaml:"links" doc:"langsmith: hosts of the storage that its runs link to, from which their content may be read"`
}

// Judge is the optional model that is asked when no rule explains a failure.
type Judge struct {
	Enabled bool     `yaml:"enabled" doc:"ask the model of traces that went wrong and that no rule explains: redacted, and within the budget"`
	API     JudgeAPI `yaml:"api" doc:"the protocol the model speaks"`
	BaseURL string   `yaml:"base_url" null:"the provider's own" doc:"address of the model"`
	Model   string   `yaml:"model" null:"none" doc:"pinned model name"`
	APIKey  Secret   `yaml:"api_key" null:"none" doc:"key for the model"`
	Votes   int      `yaml:"votes" min:"1" max:"9" doc:"votes per trajectory"`
	Rubric  string   `yaml:"rubric" null:"the built-in one" doc:"path of the rubric in your repository; pawl judge rubric prints one to begin with"`

	Calibration  string      `yaml:"calibration" null:"none" doc:"path of what pawl judge calibrate -o wrote for this model and rubric"`
	Parallel     int         `yaml:"parallel" min:"1" max:"16" doc:"questions at a time"`
	PerSignature int         `yaml:"per_signature" min:"1" max:"100" doc:"traces that went wrong in the same way of which the model sees so many in a week"`
	MaxBytes     int         `yaml:"max_bytes" min:"2000" max:"1000000" doc:"of a run as the model sees it; longer texts are cut, and it is told"`
	MaxTokens    int         `yaml:"max_tokens" min:"100" max:"32000" doc:"of one answer, reasoning included"`
	Timeout      Duration    `yaml:"timeout" doc:"of one answer"`
	Budget       JudgeBudget `yaml:"budget" doc:"spent: the answer is not decided"`
}

// JudgeBudget bounds what the judge spends in a day; 0 is no bound.
type JudgeBudget struct {
	TokensPerDay int     `yaml:"tokens_per_day" min:"0" doc:"0 = no bound"`
	USDPerDay    float64 `yaml:"usd_per_day" min:"0" doc:"0 = no bound"`
}

// GHPR says whether and how pull requests are opened.
type GHPR struct {
	Mode    Mode       `yaml:"mode" doc:"off: none; preview: rendered, not sent; open: opened"`
	BaseURL string     `yaml:"base_url" doc:"REST address: https://api.github.com/, https://api.NAME.ghe.com/, or of a GitHub Enterprise Server https://HOST/api/v3/"`
	Token   Secret     `yaml:"token" null:"none" doc:"fine-grained token with contents and pull requests write; or use app"`
	App     *GHApp     `yaml:"app" null:"none" doc:"a GitHub App; or use token"`
	CA      string     `yaml:"ca" null:"the system's alone" doc:"path of further authorities (PEM) that may have signed the certificate of base_url or of the proxy"`
	Proxy   string     `yaml:"proxy" null:"HTTPS_PROXY and NO_PROXY of the environment" doc:"address of the proxy to GitHub; one that asks for a password goes into HTTPS_PROXY"`
	Hooks   []Secret   `yaml:"webhook_secrets" doc:"secrets of GitHub's webhook at /webhooks/github, of which one must have signed a delivery; none = GitHub is only polled"`
	SignOff string     `yaml:"sign_off" null:"none" doc:"name <mail> of the commits' author: adds a Signed-off-by line, for repositories that ask for one"`
	Limits  GHPRLimits `yaml:"limits" doc:"how many pull requests, counted from the remote"`
}

// GHApp identifies an installation of a GitHub App.
type GHApp struct {
	ID           int64  `yaml:"id" required:"true" min:"1" doc:"the App's id"`
	Installation int64  `yaml:"installation" required:"true" min:"1" doc:"the installation's id"`
	KeyFile      string `yaml:"key_file" required:"true" doc:"path of the App's private key (PEM)"`
}

// GHPRLimits bounds the pull requests of one repository.
type GHPRLimits struct {
	PerHour    int      `yaml:"per_hour" min:"1" doc:"new pull requests an hour"`
	PerDay     int      `yaml:"per_day" min:"1" doc:"new pull requests a day"`
	Open       int      `yaml:"open" min:"1" doc:"open at the same time"`
	CasesPerPR int      `yaml:"cases_per_pr" min:"1" max:"50" doc:"cases in one pull request"`
	Hold       Duration `yaml:"hold" doc:"how long a new group waits for others, so that one incident is one pull request"`
	Pause      Duration `yaml:"pause" doc:"between two writes; GitHub asks for a second"`
	CoolDown   Duration `yaml:"cool_down" null:"none" doc:"after a merge, how long the next pull request for the same label and service waits"`
	WarmUp     Duration `yaml:"warm_up" null:"none" doc:"at first, how long failures are ranked and only the onboarding is proposed; pawl open ends it"`
	NewGroups  int      `yaml:"new_groups" min:"0" doc:"new failures within an hour, after the warm-up, at which pawl stops and says that a rule or an exporter is broken; 0 = never"`
}

// Policy states what the agents that match Agent must and must not do.
type Policy struct {
	Agent       Glob          `yaml:"agent" required:"true" doc:"agent or service"`
	MustPrecede []MustPrecede `yaml:"must_precede" doc:"a tool that must have succeeded before another"`
	MustNotCall []MustNotCall `yaml:"must_not_call" doc:"tools that are not to be called"`
	NoToolWhen  []NoToolWhen  `yaml:"no_tool_when" doc:"user messages that need no tool"`
	Route       []Route       `yaml:"route" doc:"which agents may take which user messages"`
}

// MustPrecede demands that Before succeeded before Tool is called, with an equal argument Same where it is set.
type MustPrecede struct {
	Tool   string `yaml:"tool" required:"true" doc:"the tool that is called"`
	Before string `yaml:"before" required:"true" doc:"the tool that must have succeeded"`
	Same   string `yaml:"same" null:"any arguments" doc:"argument that must be equal in both calls"`
}

// MustNotCall forbids Tool, unless a user message matches UnlessUserSaid.
type MustNotCall struct {
	Tool           string         `yaml:"tool" required:"true" doc:"the forbidden tool"`
	UnlessUserSaid *regexp.Regexp `yaml:"unless_user_said" null:"never allowed" doc:"user message that allows it"`
}

// NoToolWhen names user messages that need no tool.
type NoToolWhen struct {
	User *regexp.Regexp `yaml:"user" required:"true" doc:"user message"`
}

// Route names the agents that may (Allow) and may not (Deny) take a user message.
type Route struct {
	User  *regexp.Regexp `yaml:"user" required:"true" doc:"user message"`
	Allow []string       `yaml:"allow" doc:"agents that may take it; none = any"`
	Deny  []string       `yaml:"deny" doc:"agents that may not"`
}

// Tool is one entry of the catalog.
type Tool struct {
	Name       string     `yaml:"name" required:"true" doc:"the name the model calls"`
	Schema     JSONSchema `yaml:"schema" doc:"JSON Schema of the arguments; or use schema_file"`
	SchemaFile string     `yaml:"schema_file" null:"none" doc:"path of a JSON Schema of the arguments"`
	Effect     Effect     `yaml:"effect" doc:"whether a call changes anything"`
	Idempotent bool       `yaml:"idempotent" doc:"whether a second equal call changes nothing more"`
	Execution  Execution  `yaml:"execution" doc:"what runs when the tool is called"`
}

func (t *Tool) setDefaults() {
	t.Effect, t.Execution = EffectUnknown, Execution{LLM: ExecUnknown, ExternalAPI: ExecUnknown}
}

// Execution declares what runs when a tool is called; unknown is never taken as safe.
type Execution struct {
	LLM         Exec     `yaml:"llm" doc:"whether the tool calls a model"`
	ExternalAPI Exec     `yaml:"external_api" doc:"whether the tool calls an outside service"`
	Providers   []string `yaml:"providers" doc:"the outside services"`
}

// Price is what the tokens of some models cost, in USD per million; what is nil costs as Input or Output does. It computes the cost of calls
// whose spans report none.
type Price struct {
	Provider   string    `yaml:"provider" null:"any" doc:"the provider of the model, as pawl trajectory prints it"`
	Model      ModelGlob `yaml:"model" required:"true" doc:"the model as spans name it, responded or requested; * is any run of characters, ? any one"`
	Input      float64   `yaml:"input" required:"true" min:"0" doc:"USD per million input tokens"`
	Output     float64   `yaml:"output" required:"true" min:"0" doc:"USD per million output tokens"`
	CacheRead  *float64  `yaml:"cache_read" null:"as input" min:"0" doc:"USD per million input tokens read from the provider's cache"`
	CacheWrite *float64  `yaml:"cache_write" null:"as input" min:"0" doc:"USD per million input tokens written to the provider's cache"`
	AudioIn    *float64  `yaml:"audio_in" null:"as input" min:"0" doc:"USD per million input tokens of audio"`
	AudioOut   *float64  `yaml:"audio_out" null:"as output" min:"0" doc:"USD per million output tokens of audio"`
}

// Absorb says which findings become cases: MinCount occurrences, or one if it is blocking.
type Absorb struct {
	Mode          Mode     `yaml:"mode" doc:"off: none; preview: cases are shown; open: cases are proposed by pull request"`
	Labels        []string `yaml:"labels" doc:"only these, pawl's or those of your own rules; none = every label that is absorbed by default"`
	MinCount      int      `yaml:"min_count" min:"1" doc:"occurrences that a finding needs, unless it is blocking"`
	MinConfidence float64  `yaml:"min_confidence" min:"0" max:"1" doc:"confidence that a finding needs"`
	MinJudged     int      `yaml:"min_judged" min:"0" doc:"judged findings, or 10 decisions of your own, that the version of a rule needs before it opens pull requests; 0 = none"`

	SessionQuiet Duration `yaml:"session_quiet" doc:"quiet time after which the traces of a session are judged together"`
	Abandoned    bool     `yaml:"abandoned" doc:"look for conversations that the user left with words that give up, after calls that all failed, or without an answer, and that nothing came after for session_quiet: they wait for a person, as unclassified"`

	KeepRecordings Duration `yaml:"keep_recordings" doc:"how long the unredacted recordings that cases are made of are kept; 0 = for ever"`
}

// Gate says how pawl check runs an agent.
type Gate struct {
	LiveTools  []string   `yaml:"live_tools" doc:"tools that may run for real during a check"`
	Embeddings Embeddings `yaml:"embeddings" doc:"an OpenAI-compatible endpoint that compares replies by meaning during a check; without one other words are not decided"`
	Rubric     string     `yaml:"rubric" null:"the built-in one" doc:"path of what the model of judge is told about judging criteria of cases (judge: true), in your repository"`
	Variance   []Variance `yaml:"variance" doc:"share of the runs of an agent that may differ before its cases should not be enforced; the first entry that matches holds, else 0.05"`
}

// Variance is how much an agent may differ from itself.
type Variance struct {
	Agent Glob    `yaml:"agent" required:"true" doc:"service, or agent of a case written by hand"`
	Limit float64 `yaml:"limit" min:"0" max:"1" doc:"share of the runs that may differ: 0.01 where money moves, 0.1 for chat"`
}

// Embeddings is an OpenAI-compatible endpoint: POST <base_url>/embeddings.
type Embeddings struct {
	BaseURL string `yaml:"base_url" null:"none" doc:"address of the endpoint, such as https://api.openai.com/v1"`
	Model   string `yaml:"model" null:"none" doc:"pinned name of the embedding model"`
	APIKey  Secret `yaml:"api_key" null:"none" doc:"key for the endpoint"`
}

// Target maps services to the repository their cases go to.
type Target struct {
	Service Glob   `yaml:"service" required:"true" doc:"service.name"`
	Repo    string `yaml:"repo" required:"true" doc:"owner/name"`
	Base    string `yaml:"base" doc:"branch that pull requests go to; the word default is the repository's default branch, whatever it is called then"`
	Set     string `yaml:"set" doc:"directory of the cases in the repository"`
	Public  bool   `yaml:"public" doc:"the repository may be public: cases are seen by everybody"`
}

func (t *Target) setDefaults() { t.Base, t.Set = "main", "regressions" }

// Watch names the files whose change runs the whole set.
type Watch struct {
	Prompts []Glob `yaml:"prompts" doc:"prompt files"`
	Tools   []Glob `yaml:"tools" doc:"tool definitions"`
	Models  []Glob `yaml:"models" doc:"files that name the model"`
}

// Rules holds the parameters of the rules; a rule's key and its parameters' keys are the rule's own.
type Rules struct {
	Loop            LoopRule    `yaml:"loop" doc:"the same call, or a cycle of calls, again and again"`
	CostSpike       CostRule    `yaml:"cost_spike" doc:"far more tokens, or money, than the route's median"`
	ContextOverflow ContextRule `yaml:"context_overflow" doc:"share of the model's window"`
	SkippedStep     SkippedRule `yaml:"skipped_step" doc:"what came before a tool in all healthy runs of the route"`
	OverTrigger     HabitRule   `yaml:"over_trigger" doc:"writing tools that no healthy run of the route called"`
	WrongRouting    HabitRule   `yaml:"wrong_subagent_routing" doc:"agents that none handed over to in healthy runs of the route"`
	SilentTimeout   SilentRule  `yaml:"silent_timeout" doc:"waits that nobody ended as they should have"`
	LatencySpike    LatencyRule `yaml:"latency_spike" doc:"far more time than the route's median"`
}

// LoopRule counts repetitions of the same tool call or cycle of calls.
type LoopRule struct {
	Warn      int `yaml:"warn" min:"2" doc:"repetitions with equal results that are a warning"`
	Match     int `yaml:"match" min:"2" doc:"repetitions with equal results that are blocking"`
	Poll      int `yaml:"poll" min:"2" doc:"repetitions with changing results that are a warning"`
	MaxPeriod int `yaml:"max_period" min:"1" max:"16" doc:"longest cycle looked for, in calls"`
}

// CostRule compares a run's tokens with the median of its route.
type CostRule struct {
	Factor    float64 `yaml:"factor" min:"1" doc:"times the median"`
	MinRuns   int     `yaml:"min_runs" min:"2" doc:"runs of the route before the rule speaks"`
	MADs      float64 `yaml:"mads" min:"0" doc:"least excess over the median, in median absolute deviations"`
	Share     float64 `yaml:"share" min:"0" doc:"least excess over the median, as a share of it"`
	MinTokens int     `yaml:"min_tokens" min:"0" doc:"least excess over the median, in tokens"`
	Tail      float64 `yaml:"tail" min:"0" doc:"times the 95th percentile, which must be exceeded too"`
	Reach     float64 `yaml:"reach" min:"0" doc:"power of the 95th percentile's ratio to the median, by which the percentile must be exceeded too; 0 is none"`
}

// ContextRule compares input tokens with the model's window; shares from 0 to 1.
type ContextRule struct {
	Warn    float64        `yaml:"warn" min:"0" max:"1" doc:"share of the window that is a warning"`
	Match   float64        `yaml:"match" min:"0" max:"1" doc:"share of the window that is blocking"`
	Windows map[string]int `yaml:"windows" min:"1" doc:"tokens by the beginning of a model's name, before the built-in table"`
}

// SkippedRule says when what came before a tool in every healthy run must come before it.
type SkippedRule struct {
	MinRuns  int `yaml:"min_runs" min:"5" doc:"healthy runs in which the same value went through both calls"`
	MinPlain int `yaml:"min_plain" min:"5" doc:"healthy runs in which one tool came before the other, whatever they were called with"`
	Most     int `yaml:"most" min:"0" doc:"findings of this kind on one trace; 0 leaves the policy alone to speak"`
}

// HabitRule says how many healthy runs make a rule of what they have in common.
type HabitRule struct {
	MinRuns int `yaml:"min_runs" min:"5" doc:"healthy runs that agree"`
}

// SilentRule says how long nothing may happen.
type SilentRule struct {
	GapSeconds   float64 `yaml:"gap_seconds" min:"1" doc:"seconds without a call under way"`
	StallSeconds float64 `yaml:"stall_seconds" min:"1" doc:"seconds of one model call that gives fewer tokens than min_rate"`
	MinRate      float64 `yaml:"min_rate" min:"0" doc:"output tokens a second below which so long a call has stalled"`
}

// LatencyRule compares the time that a run took with the median of its route.
type LatencyRule struct {
	Factor     float64 `yaml:"factor" min:"1" doc:"times the median"`
	MinRuns    int     `yaml:"min_runs" min:"2" doc:"runs of the route before the rule speaks"`
	MADs       float64 `yaml:"mads" min:"0" doc:"least excess over the median, in median absolute deviations"`
	Share      float64 `yaml:"share" min:"0" doc:"least excess over the median, as a share of it"`
	MinSeconds float64 `yaml:"min_seconds" min:"0" doc:"least excess over the median, in seconds"`
	Tail       float64 `yaml:"tail" min:"0" doc:"times the 95th percentile, which must be exceeded too"`
	Reach      float64 `yaml:"reach" min:"0" doc:"power of that percentile's ratio to the median, by which it must be exceeded"`
}

// Redact adds to and takes from the built-in redaction.
type Redact struct {
	Patterns []RedactPattern `yaml:"patterns" doc:"further values to remove"`
	Keep     []string        `yaml:"keep" doc:"exact values that stay as they are: tool names, public addresses"`
	Canaries []string        `yaml:"canaries" doc:"values planted where nobody real is (at least 8 bytes each): whatever holds one, however it is written, does not leave"`
}

// RedactPattern finds values of one kind; Name stands in their pseudonyms.
type RedactPattern struct {
	Name    string         `yaml:"name" required:"true" doc:"kind of value; stands in the pseudonym"`
	Pattern *regexp.Regexp `yaml:"pattern" required:"true" doc:"what to remove; the first group where there is one"`
}

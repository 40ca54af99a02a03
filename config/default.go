package config

import "time"

// Default returns the configuration without a file: everything on loopback, the embedded server, no model asked,
// pull requests rendered but not sent.
func Default() Config {
	return Config{
		Enabled: true,
		DataDir: "./pawl-data",
		Listen: Listen{
			OTLPGRPC: "127.0.0.1:4317",
			OTLPHTTP: "127.0.0.1:4318",
			HTTP:     "127.0.0.1:7295",
		},
		Queue:    Queue{MaxBytes: 4 << 30},
		Ingest:   Ingest{Limits: Limits{Body: 16 << 20, Inflated: 64 << 20}},
		Assemble: defaultAssemble(),
		Flags:    Flags{Wait: Duration(time.Hour), FetchAfter: Duration(2 * time.Minute)},
		Judge:    Judge{API: JudgeOpenAI, Votes: 3, Parallel: 2, PerSignature: 5, MaxBytes: 48 << 10, MaxTokens: 2048, Timeout: Duration(2 * time.Minute)},
		GHPR: GHPR{
			Mode:    ModePreview,
			BaseURL: "https://api.github.com/",
			Limits: GHPRLimits{PerHour: 2, PerDay: 20, Open: 5, CasesPerPR: 10, Hold: Duration(5 * time.Minute), Pause: Duration(time.Second),
				CoolDown: Duration(48 * time.Hour), WarmUp: Duration(7 * 24 * time.Hour), NewGroups: 20},
		},
		Absorb: Absorb{Mode: ModePreview, MinCount: 2, MinConfidence: 0.8, MinJudged: 50, SessionQuiet: Duration(30 * time.Minute), Abandoned: true, KeepRecordings: Duration(30 * 24 * time.Hour)},
		Rules:  defaultRules(),

		RulesDir: "pawl-rules",
	}
}

func defaultAssemble() Assemble {
	return Assemble{
		RootGrace:   Duration(30 * time.Second),
		IdleTimeout: Duration(3 * time.Minute),
		MaxAge:      Duration(time.Hour),
		MaxBytes:    10 << 20,
		MaxSpans:    10_000,
		Retention:   Duration(7 * 24 * time.Hour),
	}
}

func defaultRules() Rules {
	return Rules{
		Loop:            LoopRule{Warn: 3, Match: 5, Poll: 10, MaxPeriod: 4},
		CostSpike:       CostRule{Factor: 1.5, MinRuns: 20, MADs: 3, Share: 0.05, MinTokens: 1000, Tail: 1.2, Reach: 0.5},
		ContextOverflow: ContextRule{Warn: 0.85, Match: 0.95, Windows: map[string]int{}},
		SkippedStep:     SkippedRule{MinRuns: 20, MinPlain: 40, Most: 2},
		OverTrigger:     HabitRule{MinRuns: 200},
		WrongRouting:    HabitRule{MinRuns: 40},
		SilentTimeout:   SilentRule{GapSeconds: 60, StallSeconds: 600, MinRate: 0.5},
		LatencySpike:    LatencyRule{Factor: 2, MinRuns: 20, MADs: 5, Share: 0.2, MinSeconds: 10, Tail: 1.2, Reach: 0.5},
	}
}

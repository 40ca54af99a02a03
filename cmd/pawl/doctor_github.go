package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/classify/sight"
	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ghpr"
	"github.com/pawl-dev/pawl/ghpr/github"
	"github.com/pawl-dev/pawl/ratchet"
)

// soonEnds is how long before its end a token is worth a word.
const soonEnds = 14 * 24 * time.Hour

// askGitHub reads who we are there and what we may do, and each target's repository and base branch. It writes nothing.
func (d *doctor) askGitHub(ctx context.Context, o ghpr.Options, cfg config.Config) {
	gh, err := github.New(d.log, github.Options{BaseURL: o.BaseURL, Token: o.Token, App: o.App, Transport: o.Transport, Timeout: 15 * time.Second})
	if err != nil {
		d.add(sight.Problem, "ghpr", "ghpr in pawl.yaml", "%v", err)
		return
	}
	who, err := gh.Credential(ctx)
	if err != nil {
		d.add(sight.Problem, "ghpr", grantOf(gh, err), "%s does not let pawl in: %v", gh.Host(), err)
		return
	}
	d.add(sight.OK, "ghpr", "", "%s knows pawl as %s", gh.Host(), who.Login)
	d.credential(who)
	for i, t := range targetsOf(cfg) {
		if !slices.ContainsFunc(targetsOf(cfg)[:i], func(o ratchet.Target) bool { return o.Repo == t.Repo && o.Base == t.Base }) {
			d.target(ctx, gh, who, o, t, fmt.Sprintf("targets[%d]", i))
		}
	}
}

// credential says what is known of the credential by itself.
func (d *doctor) credential(who github.Credential) {
	if w := who.Kind.Warning(); w != "" {
		what, remedy, _ := strings.Cut(w, ": ")
		d.add(sight.Advice, "ghpr.token", remedy, "%s", what)
	}
	if who.Suspended {
		d.add(sight.Problem, "ghpr.app", "an owner lifts that on the installation's page", "the App's installation is suspended")
	}
	if lacking := who.Lacking(); len(lacking) > 0 {
		d.add(sight.Problem, "ghpr", "give it "+strings.Join(lacking, " and ")+"; of an App, its owner asks for them under Permissions, and they are accepted on the installation's page",
			"the credential lacks %s", strings.Join(lacking, " and "))
	}
	if who.Kind == github.KindApp && who.Rights["workflows"] != "write" {
		d.add(sight.OK, "ghpr.app", "", "without Workflows: Read and write the onboarding leaves its workflow to people, and says so")
	}
	switch left := time.Until(who.Expires); {
	case who.Expires.IsZero():
	case left < soonEnds:
		d.add(sight.Advice, "ghpr.token", "make a new one, or use an App, which needs no renewal", "the token ends on %s", who.Expires.UTC().Format(time.DateOnly))
	default:
		d.add(sight.OK, "ghpr.token", "", "the token ends on %s", who.Expires.UTC().Format(time.DateOnly))
	}
}

// target looks at one line of targets.
func (d *doctor) target(ctx context.Context, gh *github.Client, who github.Credential, o ghpr.Options, t ratchet.Target, about string) {
	repo, err := gh.Repo(ctx, t.Repo)
	switch {
	case err != nil:
		d.add(sight.Problem, about, grantOf(gh, err), "%v", err)
		return
	case repo.Archived || repo.Disabled:
		d.add(sight.Problem, about, "name another repository", "%s is archived or disabled", t.Repo)
		return
	case !repo.CanPush && who.Kind != github.KindApp && who.Kind != github.KindActions: // theirs are not told there
		d.add(sight.Problem, about, "give "+who.Login+" write access to "+t.Repo+", and the token Contents and Pull requests: Read and write", "%s may be read and not written to", t.Repo)
		return
	}
	base := t.Base
	if base == ghpr.DefaultBase {
		base = repo.DefaultBranch
	}
	if _, err := gh.Ref(ctx, t.Repo, base); err != nil {
		d.add(sight.Problem, about, fmt.Sprintf("base in targets; the repository's default branch is %s (base: default follows it)", repo.DefaultBranch), "branch %s of %s: %v", base, t.Repo, err)
		return
	}
	if _, err := gh.Pulls(ctx, t.Repo, github.PullQuery{State: "open", Head: ghpr.DefaultPrefix + "doctor"}); err != nil {
		d.add(sight.Problem, about, grantOf(gh, err), "the pull requests of %s cannot be listed: %v", t.Repo, err)
		return
	}
	if who.Kind == github.KindFineGrained || who.Kind == github.KindOther {
		d.add(sight.OK, about, "", "%s has branch %s, and %s may write; whether the token may shows only when it does: it needs Contents and Pull requests: Read and write", t.Repo, base, who.Login)
	} else {
		d.add(sight.OK, about, "", "%s has branch %s, and pawl may write", t.Repo, base)
	}
	if !repo.Private && (o.Public == nil || !o.Public(t.Repo)) {
		d.add(sight.Advice, about, "public: true in that line of targets, if cases may be seen by everybody", "%s is public: nothing is written there", t.Repo)
	}
	d.guard(ctx, o, t, about)
}

// grantOf is what a person may do about a refusal.
func grantOf(gh *github.Client, err error) string {
	e, ok := errors.AsType[*github.Error](err)
	switch {
	case !ok:
		return "ghpr in pawl.yaml"
	case e.Kind == github.Unknown && strings.Contains(e.Message, "certificate"):
		return "ghpr.ca in pawl.yaml: the path of the authority (PEM) that signed it"
	case e.Kind == github.Unknown:
		return "look whether " + gh.Host() + " is reached from here, and whether ghpr.base_url (https://HOST/api/v3/ of a GitHub Enterprise Server) and ghpr.proxy are right"
	case e.Kind == github.Limited:
		return "ask again after " + e.NotBefore.UTC().Format(time.TimeOnly) + " UTC"
	}
	return gh.Remedy(e)
}

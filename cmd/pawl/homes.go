package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/config"
	"github.com/pawl-dev/pawl/ingest/home"
)

// homeFlags name a home, and what differs from the one that pawl.yaml has of that name, or stands for one that it does not have.
type homeFlags struct {
	name              string // of a line of homes, or a kind
	url, project      string
	keyEnv, secretEnv string
	services          []string
}

// fromEnvironment is where the vendors' own tools look for what is needed, by kind: the first that is set counts.
var fromEnvironment = map[home.Kind]struct{ url, key, secret, project []string }{
	home.Langfuse:  {url: []string{"LANGFUSE_BASE_URL", "LANGFUSE_HOST"}, key: []string{"LANGFUSE_PUBLIC_KEY"}, secret: []string{"LANGFUSE_SECRET_KEY"}},
	home.LangSmith: {url: []string{"LANGSMITH_ENDPOINT"}, key: []string{"LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"}, project: []string{"LANGSMITH_PROJECT", "LANGCHAIN_PROJECT"}},
	home.Phoenix:   {url: []string{"PHOENIX_HOST", "PHOENIX_COLLECTOR_ENDPOINT"}, key: []string{"PHOENIX_API_KEY"}, project: []string{"PHOENIX_PROJECT", "PHOENIX_PROJECT_NAME"}},
}

// homeOf finds the home that the flags name: a line of homes by its name, else the only one of that kind, else that kind with what the environment has.
func (a *app) homeOf(cfg config.Config, f homeFlags) (*home.Home, error) {
	o, err := homeOptions(cfg, f)
	if err != nil {
		return nil, err
	}
	for _, over := range []struct {
		to   *string
		flag string
	}{{&o.URL, f.url}, {&o.Project, f.project}} {
		*over.to = cmp.Or(over.flag, *over.to)
	}
	if len(f.services) > 0 {
		o.Services = f.services
	}
	for _, env := range []struct {
		to   *string
		name string
	}{{&o.Key, f.keyEnv}, {&o.Secret, f.secretEnv}} {
		if env.name == "" {
			continue
		}
		if *env.to = os.Getenv(env.name); *env.to == "" {
			return nil, usageError(fmt.Errorf("the environment variable %s is not set, or empty", env.name), "export "+env.name+"=...")
		}
	}
	o.Service = cmp.Or(o.Service, ownService(o))
	h, err := home.New(a.log, o)
	if err != nil {
		return nil, usageError(err, adviceFor(o.Kind))
	}
	return h, nil
}

func homeOptions(cfg config.Config, f homeFlags) (home.Options, error) {
	line, err := homeLine(cfg.Homes, f.name)
	if err != nil {
		return home.Options{}, err
	}
	if line != nil {
		return optionsOfHome(*line)
	}
	kind := home.Kind(f.name)
	env := fromEnvironment[kind]
	return home.Options{Name: f.name, Kind: kind, URL: firstSet(env.url), Key: firstSet(env.key), Secret: firstSet(env.secret), Project: firstSet(env.project)}, nil
}

// homeLine is the line of homes that is meant, nil where none is and the name is a kind's.
func homeLine(homes []config.Home, name string) (*config.Home, error) {
	var ofKind []*config.Home
	var names []string
	for i := range homes {
		if homes[i].Name == name {
			return &homes[i], nil
		}
		if string(homes[i].Kind) == name {
			ofKind = append(ofKind, &homes[i])
		}
		names = append(names, homes[i].Name)
	}
	switch {
	case len(ofKind) == 1:
		return ofKind[0], nil
	case len(ofKind) > 1:
		return nil, usageError(fmt.Errorf("pawl.yaml has %d homes of the kind %s", len(ofKind), name), "--from one of "+strings.Join(names, ", "))
	case !slices.Contains(home.Kinds(), name):
		return nil, usageError(fmt.Errorf("there is no home %q%s", name, didYouMean(name, "", append(names, home.Kinds()...))), "--from a name under homes in pawl.yaml, or one of "+strings.Join(home.Kinds(), ", "))
	}
	return nil, nil
}

func firstSet(names []string) string {
	for _, n := range names {
		if v := os.Getenv(n); v != "" {
			return v
		}
	}
	return ""
}

func adviceFor(kind home.Kind) string {
	env := fromEnvironment[kind]
	if len(env.key) == 0 {
		return "--url, --key-env and --secret-env, or a line under homes in pawl.yaml"
	}
	return "export " + strings.Join(slices.Concat(env.key[:1], env.secret), " and ") + ", or a line under homes in pawl.yaml"
}

// optionsOfHome is a line of homes, with its secrets.
func optionsOfHome(c config.Home) (o home.Options, err error) {
	var errs [2]error
	o = home.Options{Name: c.Name, Kind: home.Kind(c.Kind), URL: c.URL, Project: c.Project, Service: c.Service, Links: c.Links}
	o.Key, errs[0] = c.Key.Resolve()
	o.Secret, errs[1] = c.Secret.Resolve()
	for _, s := range c.Services {
		o.Services = append(o.Services, string(s))
	}
	if err := errors.Join(errs[:]...); err != nil {
		return o, usageError(fmt.Errorf("homes %s: %w", c.Name, err), "")
	}
	return o, nil
}

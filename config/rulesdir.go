package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
)

// RuleFile is a file of the rules directory: rules of the team's own, under custom as pawl.yaml has them, and nothing else.
type RuleFile struct {
	Path   string // below the directory of pawl.yaml, with slashes
	Custom []Custom
}

// rulesOnly is all that such a file holds.
type rulesOnly struct {
	Custom []Custom `yaml:"custom" required:"true"`
}

// maxRuleFiles bounds the files of the rules directory.
const maxRuleFiles = 500

// RuleFiles reads the files NAME.yaml of a rules directory, by name; in its folders are their testdata. A directory that is not there holds none. Mistakes
// come back as [Problems]; at is the directory that fsys stands for, for their places.
func RuleFiles(fsys fs.FS, dir, at string) ([]RuleFile, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := fs.ReadDir(fsys, path.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rules_dir: %w", err)
	}
	var out []RuleFile
	var problems Problems
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
		case path.Ext(name) == ".yml":
			problems = append(problems, Problem{File: path.Join(at, name), Message: name + " is not read", Advice: "call it " + strings.TrimSuffix(name, ".yml") + ".yaml"})
		case path.Ext(name) != ".yaml":
		case len(out) == maxRuleFiles:
			return nil, fmt.Errorf("rules_dir: %s holds more than %d files of rules", dir, maxRuleFiles)
		default:
			f, bad, err := ruleFile(fsys, name, path.Join(at, name))
			if err != nil {
				return nil, err
			}
			problems, out = append(problems, bad...), append(out, f)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

func ruleFile(fsys fs.FS, name, shown string) (RuleFile, Problems, error) {
	info, err := fs.Stat(fsys, name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s is not a file of at most %d bytes", name, maxFile)
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(fsys, name)
	}
	if err != nil {
		return RuleFile{}, nil, fmt.Errorf("rules_dir: %w", err)
	}
	d, only := newDecoder(shown, data, false), rulesOnly{}
	if root := d.document(data); root != nil {
		d.value(root, reflect.ValueOf(&only).Elem(), field{})
	} else if len(d.problems) == 0 {
		d.report("custom", nil, shown+": `custom` is missing", "a file of "+path.Dir(name)+" holds rules, under custom")
	}
	if len(d.problems) > 0 {
		return RuleFile{}, d.shownProblems(), nil
	}
	return RuleFile{name, only.Custom}, nil, nil
}

// ParseTree is ParseOffline of a file in a tree, with the rules of its rules directory there. A nil data is no file: the defaults hold, and the rules directory all
// the same.
func ParseTree(fsys fs.FS, file string, data []byte) (Config, error) {
	sub, err := fs.Sub(fsys, path.Dir(file))
	if err != nil {
		return Config{}, err
	}
	if data == nil {
		return Default().WithRules(sub, path.Dir(file))
	}
	return parseWith(file, data, false, sub)
}

// WithRules adds the rules of the rules directory, which lies in fsys.
func (c Config) WithRules(fsys fs.FS, at string) (Config, error) {
	files, err := RuleFiles(fsys, c.RulesDir, at)
	if err != nil {
		return Config{}, err
	}
	c.Custom = slices.Clone(c.Custom)
	for _, f := range files {
		c.Custom = append(c.Custom, f.Custom...)
	}
	return c, nil
}

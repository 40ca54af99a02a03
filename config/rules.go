package config

import (
	"maps"
	"reflect"
)

// Overrides returns, by rule and parameter, what differs from the defaults: whole numbers as int, shares and factors as
// float64, durations as text, tables as maps. Rules and parameters without a difference are absent.
func (r Rules) Overrides() map[string]map[string]any {
	over := map[string]map[string]any{}
	def := reflect.ValueOf(Default().Rules)
	for sf, rule := range reflect.ValueOf(r).Fields() {
		changed := parameters(rule)
		before := parameters(def.FieldByIndex(sf.Index))
		maps.DeleteFunc(changed, func(name string, v any) bool { return reflect.DeepEqual(v, before[name]) })
		if len(changed) > 0 {
			over[sf.Tag.Get("yaml")] = changed
		}
	}
	return over
}

// Parameters returns every parameter of every rule, in the form of Overrides.
func (r Rules) Parameters() map[string]map[string]any {
	all := map[string]map[string]any{}
	for sf, rule := range reflect.ValueOf(r).Fields() {
		all[sf.Tag.Get("yaml")] = parameters(rule)
	}
	return all
}

func parameters(rule reflect.Value) map[string]any {
	out := map[string]any{}
	for sf, v := range rule.Fields() {
		if d, ok := v.Interface().(Duration); ok {
			out[sf.Tag.Get("yaml")] = d.String()
			continue
		}
		out[sf.Tag.Get("yaml")] = v.Interface()
	}
	return out
}

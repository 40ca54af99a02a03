package trajectory

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// full returns a value of a type in which nothing is nil: every pointer, slice and map has a member.
func full(typ reflect.Type, depth int) reflect.Value {
	v := reflect.New(typ).Elem()
	switch {
	case depth > 12:
		return v
	case typ == reflect.TypeFor[jsontext.Value]():
		return reflect.ValueOf(jsontext.Value(`{"a":1}`))
	}
	switch typ.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		v.Elem().Set(full(typ.Elem(), depth+1))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(typ, 1, 1))
		v.Index(0).Set(full(typ.Elem(), depth+1))
	case reflect.Map:
		v.Set(reflect.MakeMap(typ))
		v.SetMapIndex(full(typ.Key(), depth+1), full(typ.Elem(), depth+1))
	case reflect.Struct:
		for i := range typ.NumField() {
			if typ.Field(i).IsExported() && typ.PkgPath() != "time" {
				v.Field(i).Set(full(typ.Field(i).Type, depth+1))
			}
		}
	}
	return v
}

// shared lists the paths at which two values hold the same memory, save for what Clone says it shares.
func shared(a, b reflect.Value, path string) []string {
	switch {
	case a.Type() == reflect.TypeFor[*ToolSet](), a.Type() == reflect.TypeFor[jsontext.Value]():
		return nil
	}
	var out []string
	switch a.Kind() {
	case reflect.Pointer:
		if a.Pointer() == b.Pointer() {
			out = append(out, path)
		}
		out = append(out, shared(a.Elem(), b.Elem(), path)...)
	case reflect.Slice:
		if a.Pointer() == b.Pointer() {
			out = append(out, path)
		}
		out = append(out, shared(a.Index(0), b.Index(0), path+"[]")...)
	case reflect.Struct:
		for i := range a.NumField() {
			if f := a.Type().Field(i); f.IsExported() && a.Type().PkgPath() != "time" {
				out = append(out, shared(a.Field(i), b.Field(i), path+"."+f.Name)...)
			}
		}
	}
	return out
}

func TestCloneSharesNothing(t *testing.T) {
	a := full(reflect.TypeFor[Trajectory](), 0).Interface().(Trajectory)
	b := a.Clone()
	if !reflect.DeepEqual(&a, b) {
		t.Error("the clone differs")
	}
	for _, path := range shared(reflect.ValueOf(a), reflect.ValueOf(*b), "") {
		t.Errorf("the clone shares %s", path)
	}
	if empty := new(Trajectory); !reflect.DeepEqual(empty, empty.Clone()) {
		t.Error("the clone of an empty trajectory is not empty")
	}
}

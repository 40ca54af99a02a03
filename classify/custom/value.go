package custom

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// adapter turns Go values into values of the expression language, as the usual one does, but gives the members of JSON objects in order: the
// same trajectory must give the same findings at the same cost.
type adapter struct{}

// NativeToValue converts what the view holds.
func (adapter) NativeToValue(v any) ref.Val {
	if m, ok := v.(map[string]any); ok {
		return ordered{types.NewStringInterfaceMap(adapter{}, m), slices.Sorted(maps.Keys(m))}
	}
	if l, ok := v.([]any); ok {
		return types.NewDynamicList(adapter{}, l)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// ordered is a JSON object whose keys come sorted.
type ordered struct {
	traits.Mapper
	keys []string
}

// Iterator gives the keys in order.
func (o ordered) Iterator() traits.Iterator {
	return types.NewStringList(adapter{}, o.keys).Iterator()
}

// Fold visits the members in order.
func (o ordered) Fold(f traits.Folder) {
	for _, k := range o.keys {
		if !f.FoldEntry(types.String(k), o.Get(types.String(k))) {
			return
		}
	}
}

// decode reads canonical JSON. Whole numbers that fit stay whole, so that long ids keep all their digits.
func decode(v jsontext.Value) ref.Val {
	var doc any
	err := json.Unmarshal(v, &doc, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, out *any) error {
			if d.PeekKind() != '0' {
				return errors.ErrUnsupported
			}
			n, err := d.ReadValue()
			if err != nil {
				return err
			}
			*out, err = wholeOr(string(n))
			return err
		})))
	if err != nil {
		return types.NewErr("a value that is not JSON")
	}
	return adapter{}.NativeToValue(doc)
}

func wholeOr(n string) (any, error) {
	if i, err := strconv.ParseInt(n, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n, 64)
	return f, err
}

// provider knows the kinds beside the language's own types.
type provider struct{ types.Provider }

// FindStructType finds a kind.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := schema()[name]; ok {
		return types.NewTypeTypeWithParam(objectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames lists a kind's fields.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if k, ok := schema()[name]; ok {
		return slices.SortedFunc(maps.Keys(k.byName), cmp.Compare[string]), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType finds a kind's field.
func (p provider) FindStructFieldType(name, fieldName string) (*types.FieldType, bool) {
	k, ok := schema()[name]
	if !ok {
		return p.Provider.FindStructFieldType(name, fieldName)
	}
	f, ok := k.byName[fieldName]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.typ, GetFrom: f.from, IsSet: f.isSet}, true
}

// NewValue is refused: expressions look at what happened and make nothing up.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	if _, ok := schema()[name]; ok {
		return types.NewErr("a %s cannot be made", name)
	}
	return p.Provider.NewValue(name, fields)
}

// from gets the field of an object. Of what is absent every field is.
func (f field) from(target any) (any, error) {
	switch x := target.(type) {
	case *object:
		return f.get(x), nil
	case *types.Unknown:
		return x, nil
	}
	return nil, fmt.Errorf("%T has no field %s", target, f.name)
}

func (f field) isSet(target any) bool {
	o, ok := target.(*object)
	return !ok || f.has == nil || f.has(o)
}

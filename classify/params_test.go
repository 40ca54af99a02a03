package classify

import "testing"

type tableParams struct {
	Table map[string]int `json:"table"`
	N     int            `json:"n"`
}

// TestOverridesStayWithTheirEngine holds that one engine's parameters do not leak into the defaults of the next.
func TestOverridesStayWithTheirEngine(t *testing.T) {
	r := Rule{Name: "r", Params: tableParams{Table: map[string]int{"a": 1}, N: 3}}
	got, effective, err := decodeParams(r, map[string]any{"table": map[string]any{"b": 2}})
	if err != nil {
		t.Fatal(err)
	}
	if p := got.(tableParams); p.Table["b"] != 2 || p.N != 3 {
		t.Errorf("overridden: %+v", p)
	}
	if effective["n"] != float64(3) {
		t.Errorf("effective: %v", effective)
	}
	plain, _, err := decodeParams(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := plain.(tableParams); len(p.Table) != 1 || p.Table["a"] != 1 {
		t.Errorf("the defaults were written to: %+v", p)
	}
}

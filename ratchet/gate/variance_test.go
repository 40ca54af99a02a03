package gate

import (
	"testing"

	"github.com/pawl-dev/pawl/ratchet/regcase"
)

func TestVarianceOf(t *testing.T) {
	one := func(v Verdict, reply string, args ...string) sample {
		s := sample{reply: reply, run: Run{Verdict: v, Tokens: new(int64(100))}}
		for _, a := range args {
			s.run.Calls = append(s.run.Calls, Call{"get", regcase.NewJSON([]byte(a))})
		}
		return s
	}
	same := one(Pass, "It is on its way.", `{"id":1}`)
	if v := varianceOf("a", []sample{same, same, same}, 0); !v.Steady || v.Sequence != 1 || v.Arguments != 1 || v.Least != 1 || *v.Tokens != 100 || *v.Spread != 0 {
		t.Errorf("%+v", v)
	}
	v := varianceOf("a", []sample{same, same, same, one(Pass, "그것은 오는 중입니다", `{"id":2}`)}, 0.2)
	if v.Steady || v.Sequence != 1 || v.Arguments != 0.75 || v.Least != 0 || v.Alike != 0.5 {
		t.Errorf("%+v", v)
	}
	if v := varianceOf("a", []sample{same, same, same, one(Fail, "It is on its way.", `{"id":1}`)}, 0.2); v.Steady || v.Verdicts != 0.75 {
		t.Errorf("%+v", v)
	}
	if v := varianceOf("a", []sample{{run: Run{Verdict: Error}}}, 1); v.Steady || v.Invalid != 1 {
		t.Errorf("%+v", v)
	}
	// A request id is another each time, and no difference.
	if v := varianceOf("a", []sample{one(Pass, "", `{"id":1,"request_id":"a"}`), one(Pass, "", `{"id":1,"request_id":"b"}`)}, 0); !v.Steady {
		t.Errorf("%+v", v)
	}
}

func TestLikeness(t *testing.T) {
	for _, x := range [][2]string{{"", ""}, {"a b", "A, b!"}, {"택배가 도착했습니다", "택배가 도착했습니다."}} {
		if l := likeness(x[0], x[1]); l != 1 {
			t.Errorf("%q %q: %v", x[0], x[1], l)
		}
	}
	if a, b := likeness("the parcel is late", "the parcel is here"), likeness("here", "late"); a <= b || likeness("x", "y") != 0 {
		t.Errorf("%v %v", a, b)
	}
}

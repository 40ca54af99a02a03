package openapi

import "github.com/pawl-dev/pawl/test/fakegithub"

// T is what Watch needs of a testing.TB.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Watch checks all that goes through the fake until the test ends; a fault fails the test. Call it once for every fake, before it is used.
func Watch(t T, f *fakegithub.Fake) { watch(t, f, false) }

// WatchProvoked is Watch for a test of the fake itself that sends what GitHub would refuse: a request may break the description if the fake
// refuses it with 4xx. One that breaks it and is done is a fault of the fake, which is too lax.
func WatchProvoked(t T, f *fakegithub.Fake) { watch(t, f, true) }

func watch(t T, f *fakegithub.Fake, provoked bool) {
	t.Helper()
	f.Observe(func(x fakegithub.Exchange) {
		faults := Check(x)
		if provoked && x.Status >= 400 && x.Status < 500 {
			faults = answersOf(x)
		}
		for _, fault := range faults {
			t.Errorf("GitHub's description: %s %s (%d): %s", x.Method, x.URL.RequestURI(), x.Status, fault)
		}
	})
	t.Cleanup(func() { f.Observe(nil) })
}

func answersOf(x fakegithub.Exchange) []string {
	c, err := contract()
	if err != nil {
		return []string{err.Error()}
	}
	if op, found := c.find(x); found {
		return op.answer(x)
	}
	return basicError(x)
}
